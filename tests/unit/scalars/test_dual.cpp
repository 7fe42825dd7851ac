#include <mlsysim/scalars/dual.hpp>
#include <mlsysim/scalars/loops.hpp>

#include "support/catch.hpp"

#include <cmath>

using namespace mlsysim;
using D = Dual<2>;

namespace {

template <class F>
void matches_differences(F f, double x, double y) {
  const D r = f(D::variable(x, 0), D::variable(y, 1));
  CHECK(r.value == f(x, y));
  CHECK(r.flags == 0);
  const double h = 1e-5;
  const double dx = (f(x + h * x, y) - f(x - h * x, y)) / (2 * h * x);
  const double dy = (f(x, y + h * y) - f(x, y - h * y)) / (2 * h * y);
  CHECK(r.partial[0] == Approx(dx).epsilon(1e-7).margin(1e-9));
  CHECK(r.partial[1] == Approx(dy).epsilon(1e-7).margin(1e-9));
}

}  // namespace

TEST_CASE("partials match central differences", "[scalars]") {
  for (const auto& [x, y] : {std::pair{1.7, 0.6}, {0.3, 2.2}, {12.5, 3.25}}) {
    matches_differences([](auto a, auto b) { return a * b + a - 2.0 * b + (3.0 - a) * 0.5; }, x, y);
    matches_differences([](auto a, auto b) { return a / b + 2.0 / a + b / 4.0; }, x, y);
    matches_differences([](auto a, auto b) { return sqrt(a) * exp(-b) + log(a * b) + log2(b); }, x, y);
    matches_differences([](auto a, auto b) { return pow(a, b) + pow(a, 2.5) + pow(1.5, b); }, x, y);
    matches_differences([](auto a, auto b) { return max(a, b) * min(a, 2.0 * b) + abs(a - b); }, x, y);
    matches_differences([](auto a, auto b) { return select(a < b, a * a, b * b) + clamp(a, 0.1, 100.0); }, x, y);
    matches_differences([](auto a, auto b) { return -a + sum(a, b, a * b); }, x, y);
  }
}

TEST_CASE("a tie of max is one-sided, and the other seed gives the other side", "[scalars]") {
  const auto f = [](const D& x) { return max(x * 2.0, x + 1.0); };  // kink at x = 1
  const D right = f(D::variable(1.0, 0)), left = f(D::variable(1.0, 0, -1.0));
  CHECK(right.partial[0] == 2.0);
  CHECK(-left.partial[0] == 1.0);
  CHECK(right.kinks(0));
  CHECK_FALSE(right.kinks(1));
  CHECK_FALSE(right.steps(0));
  CHECK_FALSE(max(D::variable(1.0, 0) * 2.0, D::variable(1.0, 0) * 2.0).kinks(0));
}

TEST_CASE("abs and min at their corners", "[scalars]") {
  CHECK(abs(D::variable(0.0, 0)).partial[0] == 1.0);
  CHECK(-abs(D::variable(0.0, 0, -1.0)).partial[0] == -1.0);
  const D m = min(D::variable(3.0, 0), D(3.0));
  CHECK(m.partial[0] == 0.0);
  CHECK(-min(D::variable(3.0, 0, -1.0), D(3.0)).partial[0] == 1.0);
}

TEST_CASE("select at a tie follows the branch that the seed moves into", "[scalars]") {
  const auto continuous = [](const D& x) { return select(x > 1.0, x * 3.0, x + 2.0); };
  CHECK(continuous(D::variable(1.0, 0)).partial[0] == 3.0);
  CHECK(-continuous(D::variable(1.0, 0, -1.0)).partial[0] == 1.0);
  CHECK(continuous(D::variable(1.0, 0)).kinks(0));
  const D jump = select(D::variable(1.0, 0) > 1.0, D(5.0), D(7.0));
  CHECK(jump.value == 7.0);
  CHECK(jump.steps(0));
  CHECK_FALSE(jump.steps(1));
}

TEST_CASE("ceil, floor and counts leave a sticky mark per seed", "[scalars]") {
  const D r = ceil(D::variable(2.5, 0) * 1.5) * D::variable(4.0, 1) + 1.0;
  CHECK(r.value == 17.0);
  CHECK(r.partial[0] == 0.0);
  CHECK(r.partial[1] == 4.0);
  CHECK(r.steps(0));
  CHECK_FALSE(r.steps(1));
  const D n = repeat(D::variable(3.0, 1), D::variable(2.0, 0), [](const D& s, double) { return s * 2.0; });
  CHECK(n.value == 16.0);
  CHECK(n.partial[0] == 8.0);
  CHECK(n.steps(1));
  CHECK_FALSE(n.steps(0));
}

TEST_CASE("a probe learns how far the next step is", "[scalars]") {
  detail::StepProbe probe;
  {
    const detail::StepProbeScope watching(probe);
    (void)ceil(D::variable(2.25, 0) * 2.0);   // 4.5: up at 5, down at 4
    (void)floor(D::variable(1.25, 1));
  }
  (void)ceil(D::variable(2.49, 0) * 2.0);  // outside the scope
  CHECK(probe.up[0] == 0.25);
  CHECK(probe.down[0] == 0.25);
  CHECK(probe.up[1] == 0.75);
  CHECK(probe.down[1] == 0.25);
}

TEST_CASE("a seed that stands still stays still at infinite slopes", "[scalars]") {
  CHECK(sqrt(D(0.0)).partial[0] == 0.0);
  CHECK(pow(D(0.0), D::variable(2.0, 1)).partial[0] == 0.0);
  CHECK(pow(D::variable(0.0, 0), 2.0).partial[0] == 0.0);
  CHECK(std::isinf(sqrt(D::variable(0.0, 0)).partial[0]));
}

TEST_CASE("flags tell what happens on either side of a point", "[scalars]") {
  const D x = D::variable(1.0, 0);
  // Along +x nothing changes: the slope is 2, and the flag says that the other side has another.
  const D bend = select(x >= D(1.0), x * 2.0, x + 1.0);
  CHECK(bend.partial[0] == 2.0);
  CHECK(bend.kinks(0));
  CHECK(bend.any_kink());
  const D jump = select(x >= D(1.0), D(3.0), D(2.0));
  CHECK(jump.value == 3.0);
  CHECK(jump.steps(0));
  const D smooth = select(x >= D(0.5), x * 2.0, x + 1.0);
  CHECK(smooth.flags == 0);
  // The two sides have equal slopes: no kink.
  CHECK_FALSE(select(x >= D(1.0), x * 2.0, x * 3.0 - x).any_kink());
  const D ahead = select((x > D(1.0)) && (D(2.0) > x), x * 2.0, x + 1.0);
  CHECK(ahead.partial[0] == 2.0);
  CHECK(ahead.kinks(0));
}
