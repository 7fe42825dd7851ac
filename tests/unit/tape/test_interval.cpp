#include <mlsysim/tape/interval.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <vector>

using namespace mlsysim;

namespace {

const std::vector<Interval> kRanges = {{1, 2},     {-1, 2}, {-3, -1},  {0, 4},        {-4, 0},
                                       {0.5, 0.5}, {0, 0},  {2, 1000}, {-0.25, 0.75}, {1e-9, 1e9}};

std::vector<double> samples(const Interval& r) {
  std::vector<double> out;
  for (int i = 0; i <= 8; ++i) out.push_back(r.low + (r.high - r.low) * i / 8);
  out.back() = r.high;
  return out;
}

template <class F> void contains_samples(F f) {
  for (const auto& a : kRanges)
    for (const auto& b : kRanges) {
      const Interval r = f(a, b);
      CHECK(r.low <= r.high);
      for (const double x : samples(a))
        for (const double y : samples(b)) {
          const double v = f(x, y);
          if (std::isnan(v)) continue;
          const double slack = std::isinf(v) ? 0.0 : 1e-15 * std::fabs(v);
          if (!(r.low - slack <= v && v <= r.high + slack)) {
            CAPTURE(a.low, a.high, b.low, b.high, x, y, v, r.low, r.high);
            FAIL_CHECK("a value lies outside the bound");
          }
        }
    }
}

}  // namespace

TEST_CASE("bounds contain every value of the basic operations", "[tape]") {
  contains_samples([](auto x, auto y) { return x + y; });
  contains_samples([](auto x, auto y) { return x - y; });
  contains_samples([](auto x, auto y) { return x * y; });
  contains_samples([](auto x, auto y) { return x / y; });
  contains_samples([](auto x, auto y) { return min(x, y); });
  contains_samples([](auto x, auto y) { return max(x, y); });
  contains_samples([](auto x, auto y) { return abs(x) - abs(y); });
  contains_samples([](auto x, auto y) { return ceil(x) + floor(y); });
  contains_samples([](auto x, auto y) { return select(x < y, x, y * 2.0); });
  contains_samples([](auto x, auto y) { return select(x <= y && !(x == y), x * y, y); });
  contains_samples([](auto x, auto y) { return select(x >= y || x != y, x + 1.0, y); });
  contains_samples([](auto x, auto y) { return clamp(x, -0.5, 1.5) * y; });
}

TEST_CASE("bounds contain every value of the functions", "[tape]") {
  contains_samples([](auto x, auto) { return sqrt(x); });
  contains_samples([](auto x, auto) { return log(x); });
  contains_samples([](auto x, auto) { return log2(x); });
  contains_samples([](auto x, auto) { return exp(min(x, 5.0)); });
  contains_samples([](auto x, auto y) { return pow(abs(x), clamp(y, -3.0, 3.0)); });
  contains_samples([](auto x, auto) { return pow(x, 2.0); });
  contains_samples([](auto x, auto) { return pow(x, 3.0); });
  contains_samples([](auto x, auto) { return pow(x, -2.0); });
}

TEST_CASE("bounds are exact where the operation is monotone", "[tape]") {
  const Interval r = Interval(2, 3) * Interval(5, 7) / Interval(1, 2);
  CHECK(r.low == 5.0);
  CHECK(r.high == 21.0);
  CHECK(abs(Interval(-2, 1)).low == 0.0);
  CHECK(pow(Interval(-2, 1), 2.0).high == 4.0);
  CHECK(pow(Interval(-2, 1), 2.0).low == 0.0);
  CHECK(sqrt(Interval(4, 9)).high == 3.0);
  CHECK(Interval(7, 1).low == 1.0);
}

TEST_CASE("division by a range with zero loses only the side that it must", "[tape]") {
  CHECK((Interval(1, 2) / Interval(-1, 1)).low == -Interval::inf);
  CHECK((Interval(1, 2) / Interval(-1, 1)).high == Interval::inf);
  CHECK((Interval(1, 2) / Interval(0, 4)).low == 0.25);
  CHECK((Interval(1, 2) / Interval(0, 4)).high == Interval::inf);
  CHECK((Interval(-2, -1) / Interval(0, 4)).high == -0.25);
  CHECK((Interval(-2, -1) / Interval(0, 4)).low == -Interval::inf);
  CHECK((Interval(1, 2) / Interval(-4, 0)).contains(-0.25));
  CHECK((Interval(1, 2) / Interval(0.0)).contains(1e300));
  CHECK((Interval(0, Interval::inf) * Interval(0, 1)).low == 0.0);
  CHECK((Interval::whole() - Interval::whole()).low == -Interval::inf);
}

TEST_CASE("comparisons are three-valued and select hulls what is undecided", "[tape]") {
  CHECK((Interval(1, 2) < Interval(3, 4)).certain());
  CHECK((Interval(1, 2) > Interval(3, 4)).impossible());
  const auto open = Interval(1, 3) < Interval(2, 4);
  CHECK(open.can_hold);
  CHECK(open.can_fail);
  const Interval r = select(open, Interval(10, 11), Interval(-1, 0));
  CHECK(r.low == -1.0);
  CHECK(r.high == 11.0);
}
