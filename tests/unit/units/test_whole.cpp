/// Numbers of others as whole ones: every double has an answer.
#include "support/catch.hpp"

#include <mlsysim/units/detail/halving.hpp>
#include <mlsysim/units/detail/whole.hpp>

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
