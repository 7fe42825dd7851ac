#pragma once
/// Conversion of doubles to integer types that is defined for every value.
///
/// It truncates towards 0, takes the nearest limit of the type where the value is beyond it, and 0 for NaN.
/// Example: `whole<int>(3.9)` is 3, `whole<std::uint8_t>(300.0)` 255, `whole<int>(-1e99)` -2147483648.

#include <concepts>
#include <limits>

namespace mlsysim::detail {

/// A plain conversion of the language is undefined outside the limits of `I`.
template <std::integral I> [[nodiscard]] constexpr I whole(double x) {
  using Limits = std::numeric_limits<I>;
  constexpr double beyond = 2.0 * static_cast<double>(I{1} << (Limits::digits - 1));
  if (x != x) return 0;
  if (x <= static_cast<double>(Limits::min())) return Limits::min();
  return x >= beyond ? Limits::max() : static_cast<I>(x);
}

}  // namespace mlsysim::detail
