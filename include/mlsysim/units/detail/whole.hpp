#pragma once
/// Numbers that others wrote down, as whole ones.

#include <concepts>
#include <limits>

namespace mlsysim::detail {

/// x without what is behind its point; where the type has no such number the nearest that it has, and 0 of
/// what is no number. The conversion of the language is undefined there.
template <std::integral I> [[nodiscard]] constexpr I whole(double x) {
  using Limits = std::numeric_limits<I>;
  constexpr double beyond = 2.0 * static_cast<double>(I{1} << (Limits::digits - 1));
  if (x != x) return 0;
  if (x <= static_cast<double>(Limits::min())) return Limits::min();
  return x >= beyond ? Limits::max() : static_cast<I>(x);
}

}  // namespace mlsysim::detail
