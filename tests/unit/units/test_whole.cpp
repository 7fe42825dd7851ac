/// Numbers of others as whole ones: every double has an answer.
#include "support/catch.hpp"

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
