#pragma once
/// Intervals from what groups that a fit has not seen missed.

#include <cstddef>
#include <span>
#include <vector>

namespace mlsysim {

/// How far rows of groups that a fit has not seen lie from their prediction, in standard deviations of
/// log(predicted / measured): a share `level` of them lies from `low` to `high`.
struct ConformalBand {
  double level = 0, low = 0, high = 0;
  double coverage = 0;  ///< share of the rows inside the band of the groups beside their own
};

/// A row of a group that was left out: log(predicted / measured) over its standard deviation.
struct LeftOutScore {
  std::size_t fold = 0;
  double score = 0;  ///< infinite where the fit without its group gives no answer
};

/// Bands of 50, 80 and 95 % of the scores. Every fold weighs the same, so that a large group does not decide
/// how wide the bands of others are.
/// @param folds at least 2, each with a score
[[nodiscard]] std::vector<ConformalBand> conformal_bands(std::span<const LeftOutScore> scores,
                                                         std::size_t folds);

}  // namespace mlsysim
