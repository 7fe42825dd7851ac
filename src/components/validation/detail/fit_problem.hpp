#pragma once
/// The least-squares problem of a calibration.

#include <mlsysim/validation/calibrate.hpp>

#include <Eigen/Core>

namespace mlsysim::detail {

/// A row of a fit.
struct FitRow {
  const Measurand* measurand = nullptr;
  const MeasuredRow* row = nullptr;
  std::size_t table = 0;  ///< where it comes from
  std::size_t fold = 0;
};

/// Predictions as a function of the constants, in coordinates u without bounds: log p = l + (h - l) / (1 +
/// exp(-u)).
class FitProblem {
 public:
  /// @param owner of the constants, as in ConstantValue
  FitProblem(std::string owner, const Zoo& zoo, const std::vector<FreeConstant>& constants);

  [[nodiscard]] double value_at(std::size_t i, double u) const;
  [[nodiscard]] double coordinate_of(std::size_t i, double value) const;
  /// Derivative of log p by u.
  [[nodiscard]] double slope_at(std::size_t i, double u) const;
  [[nodiscard]] Constants constants_at(const Eigen::VectorXd& u,
                                       const std::vector<std::size_t>& active) const;

  /// log(predicted / measured) of rows; not a number for a row without an answer.
  [[nodiscard]] Eigen::VectorXd errors(const std::vector<FitRow>& rows, const Eigen::VectorXd& u,
                                       const std::vector<std::size_t>& active) const;
  /// The errors, with a penalty for a row without an answer. Without the penalty a fit would move to where
  /// nothing is predicted.
  [[nodiscard]] Eigen::VectorXd residuals(const std::vector<FitRow>& rows, const Eigen::VectorXd& u,
                                          const std::vector<std::size_t>& active) const;
  /// Derivatives of the residuals by the logarithms of the constants, by central differences; 0 where one of
  /// the two has no answer.
  [[nodiscard]] Eigen::MatrixXd sensitivities(const std::vector<FitRow>& rows, const Eigen::VectorXd& u,
                                              const std::vector<std::size_t>& active) const;
  /// Moves the active constants to the best fit. `u` holds the coordinates of the active ones.
  /// @param noise standard deviation of each row
  void fit(const std::vector<FitRow>& rows, Eigen::VectorXd& u, const std::vector<std::size_t>& active,
           const Eigen::VectorXd& noise, double robust_scale) const;

  [[nodiscard]] const std::vector<FreeConstant>& constants() const { return constants_; }
  [[nodiscard]] Eigen::VectorXd start(const std::vector<std::size_t>& active) const;

 private:
  std::string owner_;
  const Zoo& zoo_;
  const std::vector<FreeConstant>& constants_;
  Conventions conventions_;
};

/// Center and scatter of the residuals of each of `tables` tables, after a fit with `active` constants.
/// Tables of few rows share theirs; `sigma` is at least 1 %.
[[nodiscard]] std::vector<TableNoise> noise_of(const std::vector<FitRow>& rows,
                                               const Eigen::VectorXd& residuals, std::size_t tables,
                                               std::size_t active);

/// Covariance of the logarithms: data and priors; `noise` is the standard deviation of each residual.
[[nodiscard]] Eigen::MatrixXd covariance_of(const Eigen::MatrixXd& sensitivities,
                                            const Eigen::VectorXd& residuals,
                                            const Eigen::VectorXd& prior_spreads,
                                            const Eigen::VectorXd& noise, double robust_scale);

}  // namespace mlsysim::detail
