// Derivatives are slopes, and at kinks and steps they say on which side.
#include "sample_entries.hpp"

#include <mlsysim/scalars/scalars.hpp>
#include <mlsysim/tape/tangents.hpp>
#include <mlsysim/units/error.hpp>

#include "support/catch.hpp"
#include "support/stencil.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlsysim;
using sample::cases;
using sample::point;

namespace {

/// `f(x, y)` at a point with both inputs as seeds.
struct Directional {
  double value, x, y;
  bool kink_x, kink_y, step_x, step_y;
};
template <class F> Directional along(F f, double x, double y = 0, double direction = 1) {
  const Tape tape =
      record_tape(2, [&](std::span<const Recorded> in) { return std::vector<Recorded>{f(in[0], in[1])}; });
  Tangents tangents(tape);
  const std::size_t seeds[] = {0, 1};
  tangents.run(std::vector<double>{x, y}, seeds, direction);
  return {tangents.value(0),    tangents.partial(0, 0), tangents.partial(0, 1), tangents.kinks(0, 0),
          tangents.kinks(0, 1), tangents.steps(0, 0),   tangents.steps(0, 1)};
}

template <class F> void matches_differences(F f, double x, double y) {
  const Directional r = along(f, x, y);
  CHECK(r.value == f(x, y));
  CHECK_FALSE((r.kink_x || r.kink_y || r.step_x || r.step_y));
  const double h = 1e-5;
  const double dx = (f(x + h * x, y) - f(x - h * x, y)) / (2 * h * x);
  const double dy = (f(x, y + h * y) - f(x, y - h * y)) / (2 * h * y);
  CAPTURE(x, y);
  CHECK(r.x == Approx(dx).epsilon(1e-7).margin(1e-9));
  CHECK(r.y == Approx(dy).epsilon(1e-7).margin(1e-9));
}

}  // namespace

TEST_CASE("partials match central differences", "[tape]") {
  for (const auto& [x, y] : {std::pair{1.7, 0.6}, {0.3, 2.2}, {12.5, 3.25}}) {
    matches_differences([](auto a, auto b) { return a * b + a - 2.0 * b + (3.0 - a) * 0.5; }, x, y);
    matches_differences([](auto a, auto b) { return a / b + 2.0 / a + b / 4.0; }, x, y);
    matches_differences([](auto a, auto b) { return sqrt(a) * exp(-b) + log(a * b) + log2(b); }, x, y);
    matches_differences(
        [](auto a, auto b) { return pow(a, b) + pow(a, decltype(a)(2.5)) + pow(decltype(a)(1.5), b); }, x, y);
    matches_differences([](auto a, auto b) { return max(a, b) * min(a, 2.0 * b) + abs(a - b); }, x, y);
    matches_differences(
        [](auto a, auto b) {
          return select(a < b, a * a, b * b) + clamp(a, decltype(a)(0.1), decltype(a)(100.0));
        },
        x, y);
    matches_differences([](auto a, auto b) { return -a + sum(a, b, a * b); }, x, y);
    matches_differences([](auto a, auto b) { return a * a * a / (b * b); }, x, y);
    matches_differences(
        [](auto a, auto b) {
          return repeat(decltype(a)(3.0), a, [&](const auto& s, const auto& k) { return sqrt(s * b) + k; });
        },
        x, y);
  }
}

TEST_CASE("through a recorded loop go the slopes of its start and of all that it uses", "[tape]") {
  // Thirty-six values of the outside: more than one run of a body has seeds.
  constexpr std::size_t inputs = 38;
  const auto law = []<class T>(std::span<const T> in) {
    return repeat(in[0], in[1], [&](const T& s, const T& k) {
      T next = s * 0.5 + k;
      for (std::size_t i = 2; i < inputs; ++i) next += in[i] * in[i] / (s + static_cast<double>(i));
      return next;
    });
  };
  const Tape tape =
      record_tape(inputs, [&](std::span<const Recorded> in) { return std::vector<Recorded>{law(in)}; });
  std::vector<double> at(inputs, 3.0);
  for (std::size_t i = 1; i < inputs; ++i) at[i] = 1.0 + 0.1 * static_cast<double>(i);
  Tangents tangents(tape);
  for (std::size_t first = 0; first < inputs; first += Tangents::kSeeds) {
    std::vector<std::size_t> seeds(std::min<std::size_t>(Tangents::kSeeds, inputs - first));
    std::iota(seeds.begin(), seeds.end(), first);
    tangents.run(at, seeds, 1.0);
    CHECK(tangents.value(0) == law(std::span<const double>(at)));
    for (std::size_t k = 0; k < seeds.size(); ++k) {
      if (seeds[k] == 0) {
        CHECK(tangents.steps(0, k));  // the count
        continue;
      }
      const auto slope = test::sixth_order_slopes(
          [&](double x) {
            auto moved = at;
            moved[seeds[k]] = x;
            return std::vector<double>{law(std::span<const double>(moved))};
          },
          at[seeds[k]])[0];
      CAPTURE(seeds[k], slope.slope, slope.error);
      CHECK_FALSE(tangents.steps(0, k));
      CHECK(tangents.partial(0, k) == Approx(slope.slope).epsilon(1e-9));
    }
  }
}

TEST_CASE("partials of every law match differences of sixth order", "[tape]") {
  int compared = 0, smooth = 0;
  for (const auto& c : cases()) {
    Tangents tangents(c.law->tape());
    std::vector<std::size_t> seeds(c.law->inputs.size());
    std::iota(seeds.begin(), seeds.end(), std::size_t{0});
    REQUIRE(seeds.size() <= Tangents::kSeeds);
    for (unsigned p = 0; p < 20; ++p) {
      const auto at = point(c, p);
      tangents.run(at, seeds, 1.0);
      for (const std::size_t i : seeds) {
        const auto found = test::sixth_order_slopes(
            [&](double x) {
              auto moved = at;
              moved[i] = x;
              return (*c.law)(moved);
            },
            at[i]);
        for (std::size_t r = 0; r < found.size(); ++r) {
          CHECK(tangents.value(r) == (*c.law)(at)[r]);
          if (tangents.kinks(r, i) || tangents.steps(r, i)) continue;
          ++smooth;
          const double scale = std::max(std::fabs(tangents.value(r) / at[i]), std::fabs(found[r].slope));
          // A kink or step within the stencil: the differences then say nothing about the point.
          if (!(found[r].error <= 1e-9 * scale)) continue;
          CAPTURE(c.law->info.id, p, r, i, tangents.partial(r, i), found[r].slope, found[r].error);
          CHECK(std::fabs(tangents.partial(r, i) - found[r].slope) <= 2 * found[r].error + 1e-11 * scale);
          ++compared;
        }
      }
    }
  }
  CAPTURE(compared, smooth);
  CHECK(compared > 300);
  CHECK(compared > 0.9 * smooth);
}

TEST_CASE("a tie of max is one-sided, and the other direction gives the other side", "[tape]") {
  const auto f = [](const Recorded& x, const Recorded&) { return max(x * 2.0, x + 1.0); };  // kink at x = 1
  const Directional right = along(f, 1.0), left = along(f, 1.0, 0, -1);
  CHECK(right.x == 2.0);
  CHECK(-left.x == 1.0);
  CHECK(right.kink_x);
  CHECK(left.kink_x);
  CHECK_FALSE(right.kink_y);
  CHECK_FALSE(right.step_x);
  // Two sides with one slope are no kink.
  CHECK_FALSE(
      along([](const Recorded& x, const Recorded& y) { return max(x * 2.0 + y, x + x + y * 1.0); }, 1.0)
          .kink_x);
}

TEST_CASE("abs and min at their corners", "[tape]") {
  const auto size = [](const Recorded& x, const Recorded&) { return abs(x); };
  CHECK(along(size, 0.0).x == 1.0);
  CHECK(-along(size, 0.0, 0, -1).x == -1.0);
  CHECK(along(size, 0.0).kink_x);
  CHECK(along(size, -2.0).x == -1.0);
  CHECK_FALSE(along(size, -2.0).kink_x);
  const auto capped = [](const Recorded& x, const Recorded&) { return min(x, Recorded(3.0)); };
  CHECK(along(capped, 3.0).x == 0.0);
  CHECK(-along(capped, 3.0, 0, -1).x == 1.0);
}

TEST_CASE("select at a tie follows the branch that the seed moves into", "[tape]") {
  const auto continuous = [](const Recorded& x, const Recorded&) {
    return select(x > 1.0, x * 3.0, x + 2.0);
  };
  CHECK(along(continuous, 1.0).x == 3.0);
  CHECK(-along(continuous, 1.0, 0, -1).x == 1.0);
  CHECK(along(continuous, 1.0).kink_x);
  const Directional jump = along(
      [](const Recorded& x, const Recorded&) { return select(x > 1.0, Recorded(5.0), Recorded(7.0)); }, 1.0);
  CHECK(jump.value == 7.0);
  CHECK(jump.step_x);
  CHECK_FALSE(jump.step_y);
}

TEST_CASE("marks tell what happens on either side of a point", "[tape]") {
  // Ahead nothing changes: the slope is 2, and the mark says that the other side has another.
  const Directional bend =
      along([](const Recorded& x, const Recorded&) { return select(x >= 1.0, x * 2.0, x + 1.0); }, 1.0);
  CHECK(bend.x == 2.0);
  CHECK(bend.kink_x);
  const Directional jump = along(
      [](const Recorded& x, const Recorded&) { return select(x >= 1.0, Recorded(3.0), Recorded(2.0)); }, 1.0);
  CHECK(jump.value == 3.0);
  CHECK(jump.step_x);
  const Directional smooth =
      along([](const Recorded& x, const Recorded&) { return select(x >= 0.5, x * 2.0, x + 1.0); }, 1.0);
  CHECK_FALSE(smooth.kink_x);
  CHECK_FALSE(smooth.step_x);
  CHECK_FALSE(
      along([](const Recorded& x, const Recorded&) { return select(x >= 1.0, x * 2.0, x * 3.0 - x); }, 1.0)
          .kink_x);
  const Directional ahead = along(
      [](const Recorded& x, const Recorded&) { return select((x > 1.0) && (2.0 > x), x * 2.0, x + 1.0); },
      1.0);
  CHECK(ahead.x == 2.0);
  CHECK(ahead.kink_x);
  const Directional turned = along(
      [](const Recorded& x, const Recorded&) { return select(!(x <= 1.0) || x < 0.5, x * 2.0, x + 1.0); },
      1.0);
  CHECK(turned.x == 2.0);
  CHECK(turned.kink_x);
}

TEST_CASE("ceil, floor and counts leave a mark that stays, per seed", "[tape]") {
  const Directional r =
      along([](const Recorded& x, const Recorded& y) { return ceil(x * 1.5) * y + 1.0; }, 2.5, 4.0);
  CHECK(r.value == 17.0);
  CHECK(r.x == 0.0);
  CHECK(r.y == 4.0);
  CHECK(r.step_x);
  CHECK_FALSE(r.step_y);
  const Directional n = along(
      [](const Recorded& x, const Recorded& count) {
        return repeat(count, x, [](const Recorded& s, const Recorded&) { return s * 2.0; });
      },
      2.0, 3.0);
  CHECK(n.value == 16.0);
  CHECK(n.x == 8.0);
  CHECK(n.step_y);
  CHECK_FALSE(n.step_x);
}

TEST_CASE("a run knows how far the next step is", "[tape]") {
  const Tape tape = record_tape(3, [](std::span<const Recorded> in) {
    return std::vector<Recorded>{ceil(in[0] * 2.0) + floor(in[1]) + in[2]};
  });
  Tangents tangents(tape);
  const std::size_t seeds[] = {0, 1, 2};
  tangents.run(std::vector<double>{2.25, 1.25, 0.5}, seeds, 1.0);  // 4.5: up at 5, down at 4
  CHECK(tangents.step_up(0) == 0.25);
  CHECK(tangents.step_down(0) == 0.25);
  CHECK(tangents.step_up(1) == 0.75);
  CHECK(tangents.step_down(1) == 0.25);
  CHECK(std::isinf(tangents.step_up(2)));
}

TEST_CASE("a seed that stands still stays still at infinite slopes", "[tape]") {
  const auto root = [](const Recorded& x, const Recorded&) { return sqrt(x); };
  CHECK(std::isinf(along(root, 0.0).x));
  CHECK(along(root, 0.0).y == 0.0);
  CHECK(along([](const Recorded& x, const Recorded& y) { return pow(x, y); }, 0.0, 2.0).x == 0.0);
  CHECK(along([](const Recorded& x, const Recorded& y) { return pow(x, y); }, 0.0, 2.0).y == 0.0);
  CHECK(along([](const Recorded& x, const Recorded& y) { return sqrt(x) + y; }, 0.0, 2.0).y == 1.0);
}

TEST_CASE("inputs that are no seeds have no slope and cost no mark", "[tape]") {
  const Tape tape = record_tape(2, [](std::span<const Recorded> in) {
    return std::vector<Recorded>{max(in[0], in[1]) * in[1] + ceil(in[0])};
  });
  Tangents tangents(tape);
  const std::size_t second[] = {1};
  tangents.run(std::vector<double>{2.0, 3.0}, second, 1.0);
  CHECK(tangents.partial(0, 0) == 6.0);
  CHECK_FALSE(tangents.steps(0, 0));
  CHECK(std::isinf(tangents.step_up(0)));
  tangents.run(std::vector<double>{2.0, 3.0}, {}, 1.0);
  CHECK(tangents.value(0) == 11.0);
}

TEST_CASE("a count beyond its bound is refused here as well", "[tape]") {
  const Tape tape = record_tape(1, [](std::span<const Recorded> in) {
    return std::vector<Recorded>{
        repeat<5>(in[0], Recorded(1.0), [](const Recorded& s, const Recorded&) { return s * 2.0; })};
  });
  Tangents tangents(tape);
  const std::size_t seeds[] = {0};
  CHECK_THROWS_AS(tangents.run(std::vector<double>{6.0}, seeds, 1.0), DomainError);
}
