#pragma once
/// Fits constants of a device or serving engine to measured tables, with uncertainty and cross-validation by
/// groups.
///
///   minimize  sum over rows (rho(r) / noise^2)  +  sum over constants (log(value / prior) / prior_spread)^2
///   r = log(predicted / measured)      rho(r) = 2 s^2 (sqrt(1 + (r / s)^2) - 1)
///   p10, p90 = value * exp(-+ 1.2816 * spread)      within the physical bounds
///
/// s: robust_scale. noise: scatter of the row's table about the error that its rows share. spread: standard
/// deviation of log(value) after the fit. A constant with spread >= 0.5 * prior_spread is not identified: it
/// keeps its present value, and the others are fitted again.
/// Example: value 0.71 and spread 0.05 give p10 0.666 and p90 0.757.

#include <mlsysim/validation/conformal.hpp>
#include <mlsysim/validation/validate.hpp>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Probability between p10 and p90.
inline constexpr double kIntervalShare = 0.8;
/// Normal quantile of 90 %: half of the interval in standard deviations.
inline constexpr double kIntervalQuantile = 1.2816;

/// A constant that may be fitted. All of them are positive and are fitted in their logarithm.
struct FreeConstant {
  std::string field;  ///< of the device or engine: "efficiency.memory", "kernels.launch", "host_step"
  std::string unit;   ///< in which its range is written
  double prior =
      0;  ///< of the class: the convention that stands in for it, or the generic engine [base unit]
  double prior_spread = 0;   ///< standard deviation of the prior's logarithm
  double start = 0;          ///< the present value [base unit]
  double low = 0, high = 0;  ///< physical bounds [base unit]
};

/// The result for one constant.
struct FittedConstant {
  FreeConstant constant;
  double value = 0;         ///< [base unit]; the present value where the data do not identify it
  double spread = 0;        ///< standard deviation of its logarithm after the fit
  bool identified = false;  ///< its spread is below half of the prior's
  bool at_bound = false;
  std::string why{};  ///< why it is not identified

  /// Standard deviation after the fit over that of the prior. Near 1, the rows add no information.
  [[nodiscard]] double of_prior() const { return spread / constant.prior_spread; }
  /// The 80 % interval, inside the physical bounds [base unit].
  [[nodiscard]] double p10() const;
  [[nodiscard]] double p90() const;
};

/// Errors on one group, with constants fitted with it (in_sample) and without it (left_out).
struct GroupError {
  std::string group;
  ErrorStatistics in_sample, left_out;
};

/// Range of an input over the rows of a fit. Outside it a prediction extrapolates.
struct InputRange {
  double low = 0, high = 0;
};

/// Residuals of a table after a fit: log(predicted / measured) scatters by `sigma` about `center`.
struct TableNoise {
  std::string measurand;
  double center = 0, sigma = 0;
  std::size_t rows = 0, groups = 0;

  /// Whether all rows share an error that no constant explains: more than two standard errors from 0,
  /// and more than 2 %.
  [[nodiscard]] bool biased() const;
};

/// A table of whole systems with rows of the device or engine: medians of |e| with the present constants and
/// with the fitted ones.
struct SystemChange {
  std::string table;
  std::size_t rows = 0;
  double before = 0, after = 0;
  double allowed =
      0;  ///< by which the median may grow: half of its standard error, at least 0.5 %; 5 % of few rows

  [[nodiscard]] bool worse() const { return after > before + allowed; }
};

struct Calibration {
  std::string what;   ///< "device" or "engine"
  std::string name;   ///< its key in the zoo
  std::string owner;  ///< as in ConstantValue
  std::vector<std::string> tables, references;
  std::vector<FittedConstant> constants;
  std::vector<double> covariance;  ///< of the logarithms of all constants, row after row
  std::size_t rows = 0, fitted_rows = 0;
  std::vector<LeftOut> unanswered;            ///< further rows without a prediction, by reason
  double noise = 0;                           ///< of a row: root mean square of the tables' `sigma`
  std::map<std::string, TableNoise> scatter;  ///< by table
  std::vector<SystemChange> systems;          ///< filled by `check_systems`
  std::vector<std::string> harmless;          ///< constants that alone make no table of `systems` worse
  ErrorStatistics before, after,
      left_out;  ///< of rows with an answer: fewer than `rows` where constants leave some without
  std::vector<GroupError> groups;
  double coverage = 0;                       ///< share of all rows inside their 80 % interval
  std::vector<ConformalBand> bands;          ///< of 50, 80 and 95 %; none without groups to leave out
  std::map<std::string, InputRange> domain;  ///< "matrix_product.rows" and its range

  /// Share of the rows of groups left out inside the interval of this level; 0 without groups.
  [[nodiscard]] double coverage_left_out(double level = 0.8) const;
  /// Whether the fit makes a table of whole systems worse.
  [[nodiscard]] bool makes_systems_worse() const;
  /// The fitted constants as changes of zoo parameters.
  [[nodiscard]] std::vector<ConstantValue> changes() const;
};

struct CalibrationOptions {
  std::vector<std::string>
      fields{};  ///< constants to fit; empty: every measured constant that matters to a row
  std::size_t most_rows =
      2000;                    ///< rows that take part in the fit, spread evenly over the tables; at least 1
  std::size_t most_folds = 8;  ///< groups are put together beyond this number; 1: none is left out
  double robust_scale = 0.15;  ///< errors beyond it count linearly, not squared; positive
  bool any_rows = false;       ///< also fit rows of the same work that differ by a factor
};

/// Constants of a device that a fit may touch, with priors from zoo/defaults.yaml and bounds from the field
/// tables.
/// @throws LookupError for a field that is none of them
[[nodiscard]] std::vector<FreeConstant> free_constants(const HardwareNode& device, const Zoo& zoo,
                                                       std::span<const std::string> fields = {});
/// Times of an engine that a fit may touch. Priors are those of the generic engine. A time that an engine
/// lacks stays absent.
[[nodiscard]] std::vector<FreeConstant> free_constants(const ServingEngine& engine, const Zoo& zoo,
                                                       std::span<const std::string> fields = {});

/// Fits by nonlinear least squares (Levenberg-Marquardt).
///
/// Cross-validation leaves out whole groups of the tables (model, device, software), never single rows. Rows
/// to which the library gives no answer with the present constants take no part; a row that loses its answer
/// during a fit counts as a very wrong one. `efficiency.matrix` is kept if every row
/// that moves it is a burst (`busy` of its table is below a third of `efficiency.burst_time`).
/// @throws InputError when no row of the tables is measured on this device, or with this engine, or none has
/// an answer, for rows of a device that measured the same work and differ by a factor, and for options out of
/// their range
[[nodiscard]] Calibration calibrate(const HardwareNode& device, std::span<const MeasuredTable> tables,
                                    const Zoo& zoo, const CalibrationOptions& options = {});
[[nodiscard]] Calibration calibrate(const ServingEngine& engine, std::span<const MeasuredTable> tables,
                                    const Zoo& zoo, const CalibrationOptions& options = {});

/// Calibrates the device or engine of this name. @param what "device" or "engine" @throws InputError for
/// another word, LookupError for a name that the zoo does not have
[[nodiscard]] Calibration calibrate(std::string_view what, std::string_view name,
                                    std::span<const MeasuredTable> tables, const Zoo& zoo,
                                    const CalibrationOptions& options = {});

/// Compares tables of whole systems (serving, training, energy) that have rows of the device or engine,
/// before and after the fit: those that ship and `more`. Fills `systems`, and `harmless` where one got worse.
void check_systems(Calibration& calibration, std::span<const MeasuredTable> more, const Zoo& zoo);

/// A prediction with its error bar.
struct IntervalPrediction {
  double p10 = 0, p50 = 0, p90 = 0;       ///< base unit of the measurand
  std::vector<std::string> extrapolated;  ///< inputs beyond the data of the fit: "rows 65536 > 32768"
};
[[nodiscard]] IntervalPrediction predict_interval(const Calibration& calibration, const Measurand& measurand,
                                                  const void* inputs, const Zoo& zoo);

/// The device or engine with its fitted constants as a zoo file with provenance; its name is
/// `<name>_calibrated`.
/// @param date of the fit, YYYY-MM-DD @throws InputError for another text
[[nodiscard]] std::string overlay_of(const Calibration& calibration, const Zoo& zoo, const std::string& date);

}  // namespace mlsysim
