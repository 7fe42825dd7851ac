#pragma once
/// Prediction intervals: ranges of input parameters and errors of the model on measured setups, combined.
///
///   lower = value * exp(-sqrt(ln(value / input_lower)^2 + ln(model_low)^2))
///   upper = value * exp(+sqrt(ln(input_upper / value)^2 + ln(model_high)^2))
///
/// input_lower, input_upper: quantiles over the ranges of the zoo's parameters (see `uncertainty`).
/// model_low, model_high: band of measured over predicted in the nearest groups of measurements. Levels are
/// 50, 80 and 95 %. A number that no table measures has the input part alone.
/// Example: Llama3_70B on 8x H100, 16 requests in one burst, 512 out: ITL 11.1 ms, 80 % interval 10.3 to 13.4
/// ms. Input part 11.1 to 11.4 ms, model band 0.925 to 1.206.

#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/explore/ask/uncertainty.hpp>
#include <mlsysim/explore/space/space.hpp>
#include <mlsysim/intervals/model_error.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// The subject of an interval: device, engine and model of a scenario or of a resolver's inputs, and whether
/// it serves, trains or runs one pass. `NumberKind` holds the metric.
struct IntervalSubject {
  ErrorSubject about;
  std::optional<Mode> mode{};  ///< of a scenario
  bool decodes = false;        ///< a pass is a decode step of a language model
};
[[nodiscard]] IntervalSubject interval_subject(const Scenario& scenario);
[[nodiscard]] IntervalSubject interval_subject(const Resolver& resolver, const void* inputs);

/// A number of a scorecard or resolver by the metric that tables measure.
struct NumberKind {
  MeasuredMetric metric;
  bool rate = false;                     ///< falls where the time grows
  std::optional<MeasuredMetric> rest{};  ///< of a request: the metric of all its tokens but the first
};
/// @return none for numbers that no table measures: prices, ratios of a plan, parts of a time
[[nodiscard]] std::optional<NumberKind> kind_of_number(std::string_view result, const IntervalSubject& of);

/// A number with its interval, base units.
struct NumberInterval {
  std::string result;
  std::string_view unit;
  Exponents exps{};
  int level = 80;  ///< percent of measurements that it is to hold
  double value = 0;
  double lower = 0, upper = 0;              ///< both parts: the root of the sum of their squared logarithms
  double input_lower = 0, input_upper = 0;  ///< the ranges of the zoo's figures alone
  std::optional<ModelErrorBand> model{};    ///< none: no table measures such a number
};

/// Intervals of these results.
/// @param results names of results; those that are not positive finite numbers here are passed over
/// @param figures distributions that differ from the ranges of the zoo, and how they are sampled
/// @param book measurements behind the interval; null: the tables of the zoo
/// @throws InputError for a level that is not 50, 80 or 95, LookupError for results that there are not
[[nodiscard]] std::vector<NumberInterval> intervals(const Subject& subject, const IntervalSubject& of,
                                                    std::span<const std::string> results, int level,
                                                    UncertaintyQuestion figures = {.samples = 512},
                                                    const ErrorBook* book = nullptr);
/// Intervals at points of a space. The device, the model and the engine of a point are those of its axes,
/// where these vary.
class SpaceIntervals {
 public:
  /// @param of what is asked beside the axes @param space outlives it
  /// @param results names of results; those that no table measures are passed over
  /// @throws InputError for a level that is not 50, 80 or 95, LookupError for results that there are not
  SpaceIntervals(const Space& space, IntervalSubject of, std::span<const std::string> results, int level);

  /// The results that have intervals, in the order given.
  [[nodiscard]] const std::vector<std::string>& results() const { return results_; }
  /// The ends of each result, base units; not numbers where the point has no positive finite value.
  struct Ends {
    double lower, upper;
  };
  /// @throws Error where the point has no subject
  [[nodiscard]] std::vector<Ends> at(std::uint64_t index);
  /// With what the intervals rest on; results that are not positive finite numbers there are passed over.
  /// @throws Error where the point has no subject
  [[nodiscard]] std::vector<NumberInterval> numbers_at(std::uint64_t index);

 private:
  const Space* space_;
  IntervalSubject of_, of_choice_;
  std::vector<std::string> results_;
  int level_;
  std::uint64_t choice_;  // of the structural axes that `subject_` belongs to
  Subject subject_;
  std::vector<Space::Column> columns_;
};

/// The results of the subject that tables measure.
[[nodiscard]] std::vector<std::string> measured_results(const Subject& subject, const IntervalSubject& of);

}  // namespace mlsysim
