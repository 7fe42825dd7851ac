// One sweep backwards gives the slopes that runs forwards give, and says where they are not everything.
#include "sample_entries.hpp"

#include <mlsysim/scalars/scalars.hpp>
#include <mlsysim/tape/slopes.hpp>
#include <mlsysim/tape/tangents.hpp>

#include "support/catch.hpp"

#include <cmath>

using namespace mlsysim;
using sample::cases;
using sample::point;

namespace {

struct Partials {
  double x, y;
  bool rough_x, rough_y;
};
template <class F> Partials slopes(F f, double x, double y) {
  const Tape tape =
      record_tape(2, [&](std::span<const Recorded> in) { return std::vector<Recorded>{f(in[0], in[1])}; });
  Slopes s(tape);
  s.run(std::vector<double>{x, y});
  s.reverse(0);
  return {s.partial(0), s.partial(1), s.rough(0), s.rough(1)};
}

}  // namespace

TEST_CASE("slopes of a sum of products are worked out by hand", "[tape]") {
  // f = x^2 y + x / y at (3, 2): df/dx = 2 x y + 1 / y = 12.5, df/dy = x^2 - x / y^2 = 8.25.
  const Partials f = slopes([](const Recorded& x, const Recorded& y) { return x * x * y + x / y; }, 3, 2);
  CHECK(f.x == 12.5);
  CHECK(f.y == 8.25);
  CHECK_FALSE((f.rough_x || f.rough_y));
  // sqrt(x^2 + y^2) at (3, 4): 3 / 5 and 4 / 5.
  const Partials q = slopes([](const Recorded& x, const Recorded& y) { return quadrature(x, y); }, 3, 4);
  CHECK(q.x == 0.6);
  CHECK(q.y == 0.8);
}

TEST_CASE("slopes of every sample law are those of the tangents, wherever they are not rough", "[tape]") {
  for (const auto& c : cases()) {
    const Tape& tape = c.law->tape();
    Slopes backwards(tape);
    Tangents forwards(tape);
    TangentsOf<1> one(tape, backwards.nodes());  // the same, of one input
    for (unsigned p = 0; p < 20; ++p) {
      const auto at = point(c, p);
      backwards.run(at);
      for (std::size_t i = 0; i < at.size(); ++i) {
        forwards.run(at, {&i, 1}, 1.0);
        one.run(at, {&i, 1}, 1.0);
        CHECK(one.step_up(0) == forwards.step_up(0));
        CHECK(one.step_down(0) == forwards.step_down(0));
        for (std::size_t r = 0; r < tape.results(); ++r) {
          CAPTURE(c.law->info.id, p, i, r);
          backwards.reverse(r);
          CHECK(backwards.value(r) == forwards.value(r));
          CHECK(one.value(r) == forwards.value(r));
          CHECK(one.partial(r, 0) == forwards.partial(r, 0));
          CHECK(one.steps(r, 0) == forwards.steps(r, 0));
          CHECK(one.kinks(r, 0) == forwards.kinks(r, 0));
          const bool special = forwards.steps(r, 0) || forwards.kinks(r, 0);
          if (special) CHECK(backwards.rough(i));
          if (backwards.only_steps(i)) CHECK_FALSE(forwards.kinks(r, 0));
          if (!backwards.rough(i) || backwards.only_steps(i))
            CHECK(backwards.partial(i) == Approx(forwards.partial(r, 0)).epsilon(1e-12).margin(1e-300));
        }
      }
    }
  }
}

TEST_CASE("operands of a tie that move alike are no tie, but their steps count", "[tape]") {
  using R = const Recorded&;
  const Partials same = slopes([](R x, R y) { return max(x * y, y * x + (x - x)); }, 3, 2);
  CHECK(same.x == 2);
  CHECK_FALSE((same.rough_x || same.rough_y));
  // ceil(3) and 3 are equal, and neither moves at first: the step of one counts, whichever comes first.
  CHECK(slopes([](R x, R y) { return max(Recorded(3.0), ceil(x)) + y; }, 2.5, 1).rough_x);
  CHECK(slopes([](R x, R y) { return max(ceil(x), Recorded(3.0)) + y; }, 2.5, 1).rough_x);
  CHECK(slopes([](R x, R y) { return select(ceil(x) < 3.0, y, 2.0 * y); }, 2.5, 1).rough_x);
}

TEST_CASE("ties, steps and slopes without end are rough, for the inputs behind them alone", "[tape]") {
  const auto rough = [](auto f, double x, double y) {
    const Partials s = slopes(f, x, y);
    return std::pair(s.rough_x, s.rough_y);
  };
  using R = const Recorded&;
  CHECK(rough([](R x, R y) { return max(x, Recorded(2.0)) + y; }, 2, 1) == std::pair(true, false));
  CHECK(rough([](R x, R y) { return max(x, Recorded(2.0)) + y; }, 2.5, 1) == std::pair(false, false));
  CHECK(rough([](R x, R y) { return ceil(x) * y; }, 2.5, 1) == std::pair(true, false));
  CHECK(rough([](R x, R y) { return ceil(x) * y; }, 2.5, 0) ==
        std::pair(false, false));  // the step has no height
  CHECK(rough([](R x, R y) { return abs(x) + y; }, 0, 1) == std::pair(true, false));
  CHECK(rough([](R x, R y) { return sqrt(x) + y; }, 0, 1) == std::pair(true, false));
  CHECK(rough([](R x, R y) { return quadrature(x, y); }, 0, 0) == std::pair(true, true));
  CHECK(rough([](R x, R y) { return select(x < y, x, 2.0 * y); }, 1, 1) == std::pair(true, true));
  CHECK(rough([](R x, R y) { return select(x < y && x > 0.5, x, 2.0 * y); }, 0.5, 1) ==
        std::pair(true, false));
  CHECK(rough([](R x, R y) { return select(!(x < y), x, 2.0 * y); }, 2, 1) == std::pair(false, false));
  CHECK(rough([](R x, R y) { return repeat(ceil(x), y, [](R s, R k) { return s * 0.5 + k; }); }, 2.5, 1) ==
        std::pair(true, true));
}
