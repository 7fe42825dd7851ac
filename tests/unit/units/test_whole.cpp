/// Numbers of others as whole ones: every double has an answer.
#include "support/catch.hpp"

#include <mlsysim/units/detail/halving.hpp>
#include <mlsysim/units/detail/whole.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

using mlsysim::detail::whole;

namespace {

template <class I> void check_ends() {
  using Limits = std::numeric_limits<I>;
  constexpr double inf = std::numeric_limits<double>::infinity();
  CHECK(whole<I>(std::numeric_limits<double>::quiet_NaN()) == 0);
  CHECK(whole<I>(inf) == Limits::max());
  CHECK(whole<I>(-inf) == Limits::min());
  CHECK(whole<I>(1e300) == Limits::max());
  CHECK(whole<I>(-1e300) == Limits::min());
  // The least double beyond the type, and the one below it.
  const double beyond = 2.0 * static_cast<double>(I{1} << (Limits::digits - 1));
  CHECK(whole<I>(beyond) == Limits::max());
  CHECK(static_cast<double>(whole<I>(beyond / 2)) == beyond / 2);
  CHECK(whole<I>(0.9) == 0);
  CHECK(whole<I>(-0.9) == 0);
  CHECK(whole<I>(41.9) == 41);
}

}  // namespace

TEST_CASE("every double has a whole number", "[units]") {
  check_ends<int>();
  check_ends<std::uint32_t>();
  check_ends<std::int64_t>();
  check_ends<std::uint64_t>();
  CHECK(whole<int>(-41.9) == -41);
  static_assert(whole<std::int64_t>(0x1p53) == 1LL << 53);
}

TEST_CASE("the last whole number of a condition is found from both sides, and above 2^53", "[units]") {
  using mlsysim::detail::last_whole;
  CHECK(last_whole(0.0, 100.0, [](double x) { return x <= 41; }) == 41);
  CHECK(last_whole(100.0, 0.0, [](double x) { return x > 41; }) == 42);
  CHECK(last_whole<std::size_t>(9, 3, [](std::size_t i) { return i >= 5; }) == 5);
  const double near = last_whole(0.0, 1e17, [](double x) { return x <= 5e16 + 8; });
  CHECK(near == 5e16 + 8);
  CHECK(last_whole(0.0, std::numeric_limits<double>::max(), [](double) { return false; }) == 0);
}

TEST_CASE("halving takes a number of steps that does not depend on where the answer is", "[units]") {
  using namespace mlsysim::detail;
  constexpr double most = 1e15;
  for (const double answer : {0.0, 1.0, 2.0, 999'999.0, 1e12, most / 3, most - 1}) {
    const double last = std::floor(answer);
    int asked = 0;
    const auto holds = [&](double x) {
      ++asked;
      return x <= last;
    };
    CHECK(last_whole(0.0, most, holds) == last);
    CHECK(last_whole(most, -1.0, [&](double x) { return ++asked, x > last; }) == last + 1);
    CHECK(asked <= 2 * 50);  // log2(10^15) = 49.8
  }
  // Pairs of ends over all decades, also those that a difference of doubles cannot tell apart.
  for (double low = 1e-300; low < 1e290; low *= 1e10)
    for (double high = low; high < 1e300; high *= 1e30)
      for (const double share : {0.0, 0.3, 1.0}) {
        int asked = 0;
        const double root = low + share * (high - low);
        const auto [below, above] =
            halved(low, high, 1e-12, 200, [&](double x) { return ++asked, x < root; });
        CHECK(asked <= 200);
        CHECK(below <= above);
        if (share > 0.1) CHECK((below <= root && root <= above && above - below <= 1e-12 * above));
        asked = 0;
        (void)last_whole(std::floor(low), std::floor(high), [&](double x) { return ++asked, x < root; });
        CHECK(asked <= 1100);  // as many as doubles have binary exponents and digits
      }
}
