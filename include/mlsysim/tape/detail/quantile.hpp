#pragma once
/// Quantile of a sorted sample by linear interpolation between order statistics.
///
///     t = q (n - 1),  i = floor(t)
///     quantile = x[i] + (t - i) (x[i + 1] - x[i])
///
/// Example: the 0.9 quantile of 1, 2, 4: t = 1.8, and 2 + 0.8 * 2 = 3.6.

#include <cstddef>
#include <span>

namespace mlsysim::detail {

/// @pre `sorted` is ascending and not empty, 0 <= q <= 1
[[nodiscard]] inline double quantile(std::span<const double> sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

}  // namespace mlsysim::detail
