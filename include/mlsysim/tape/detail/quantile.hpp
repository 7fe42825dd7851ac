#pragma once
/// Quantiles of a sample.

#include <cstddef>
#include <span>

namespace mlsysim::detail {

/// Quantile of sorted values by linear interpolation between order statistics. @pre not empty, 0 <= q <= 1
[[nodiscard]] inline double quantile(std::span<const double> sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

}  // namespace mlsysim::detail
