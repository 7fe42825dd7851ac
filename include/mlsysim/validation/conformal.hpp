#pragma once
/// Prediction bands from the errors on groups that a fit has not seen (conformal prediction).
///
///   score     = log(predicted / measured) / standard deviation
///   low, high = quantiles (1 -+ level) / 2 of the scores                    5 folds or more
///   low, high = -+ quantile min(1, level * (folds + 1) / folds) of |score|   fewer folds
///
/// Every fold has weight 1, shared by its scores, so that a large group does not decide the width alone.
/// Example: 10 folds with the scores -0.9, -0.7, ..., 0.9: the 50 % band is -0.5 to 0.5. Four folds with the
/// scores 1, 2, 3, 4: the 50 % band is -3 to 3.

#include <cstddef>
#include <span>
#include <vector>

namespace mlsysim {

/// The band that contains a share `level` of the scores.
struct ConformalBand {
  double level = 0, low = 0, high = 0;
  double coverage = 0;  ///< share of the rows inside the band that the other folds give
};

/// The score of one row, predicted by the fit without its fold.
struct LeftOutScore {
  std::size_t fold = 0;
  double score = 0;  ///< infinite where the fit without its group gives no answer
};

/// Bands of 50, 80 and 95 % of the scores.
/// @param folds at least 2, each with a score
[[nodiscard]] std::vector<ConformalBand> conformal_bands(std::span<const LeftOutScore> scores,
                                                         std::size_t folds);

}  // namespace mlsysim
