#pragma once
/// Statistics of relative errors.

#include <cstddef>
#include <span>
#include <vector>

namespace mlsysim {

/// Relative errors e = (predicted - measured) / measured of a set of rows; |e| except for `bias`.
struct ErrorStatistics {
  std::size_t rows = 0;
  double median = 0, mean = 0, p90 = 0, max = 0;
  double bias = 0;  ///< signed mean
};

[[nodiscard]] ErrorStatistics statistics_of(std::span<const double> signed_errors);

}  // namespace mlsysim
