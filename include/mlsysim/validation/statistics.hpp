#pragma once
/// Statistics of relative errors over the rows of a table.
///
///   e = (predicted - measured) / measured
///   median, mean, p90, max: of |e|      bias = mean of e
///
/// Quantiles interpolate linearly between sorted values.
/// Example: e = 0.1, -0.2, 0.3, -0.4, 1.0: median 0.3, mean 0.4, p90 0.76, max 1.0, bias 0.16.

#include <cstddef>
#include <span>
#include <vector>

namespace mlsysim {

/// The statistics; all 0 without rows.
struct ErrorStatistics {
  std::size_t rows = 0;
  double median = 0, mean = 0, p90 = 0, max = 0;
  double bias = 0;  ///< signed mean
};

[[nodiscard]] ErrorStatistics statistics_of(std::span<const double> signed_errors);

}  // namespace mlsysim
