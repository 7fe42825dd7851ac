#pragma once
/// Sensitivity of one result to each input: slopes, elasticities, tornado bars, limits, and a sentence for
/// each.
///
///   elasticity = (d result / d input) * input / result        price = d result / d input
///
/// Derivatives are exact where the subject is a law, else differences. At kinks both one-sided values are
/// given. Counts move to the next admissible count, and bytes of a value stay those of a format. The ceiling
/// is the most that the better direction brings.
/// Example: a roofline with 100 GFLOP at 100 GFLOP/s and 1 GB at 10 GB/s takes 1 s. Elasticities of its time
/// are work 1, peak -1, traffic 0, bandwidth 0. Traffic matters from 10.1 GB on, where time has moved by 1 %.

#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/tape/gradient.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Whether less of a result is better: of times, money, energy and bytes, not of rates and ratios.
[[nodiscard]] constexpr bool better_when_less(const Exponents& exps) {
  return !exps.dimensionless() && exps.time >= 0;
}

/// The effect of one input on one result. Changes of the result are relative (0.05 = 5 % more), or absolute
/// in its base unit where the result is 0 at the subject's point.
struct Lever {
  std::string input;
  std::string_view meaning, unit;  ///< of the input
  Exponents exps{};
  bool counted = false;  ///< moves to a neighbor: a count, a flag, or the width of a format
  double value = 0;      ///< of the input, base unit
  Slope slope = Slope::smooth;
  /// Relative change per relative change; for counts over the move to the next one. Empty at kinks, jumps,
  /// flags and zeros.
  std::optional<double> elasticity;
  double elasticity_up = 0,
         elasticity_down =
             0;  ///< one-sided, for an increase and for a decrease; of counts over `upper`, `lower`
  std::optional<double> price;  ///< slope, result's base unit per input's base unit; empty at kinks
  double lower = 0,
         upper = 0;  ///< the input after a decrease and an increase by the step asked for; the next count
  double at_lower = 0,
         at_upper =
             0;  ///< change of the result there: the bar of a tornado plot; not a number where it has none
  double ceiling =
      0;  ///< relative change when the input goes as far as it helps or hurts in the better direction
  std::optional<double>
      matters_at;     ///< for an input without effect here: its value at which the result has moved by 1 %
  std::string words;  ///< one sentence

  /// Length of the tornado bar; an end without a result has none.
  [[nodiscard]] double reach() const;
};

struct SensitivityOptions {
  std::vector<std::string> inputs{};  ///< which; all by default
  double step = 0.1;                  ///< relative move of the tornado, in (0, 1)
};

/// The sensitivities of one result.
struct SensitivityReport {
  std::string subject, result;
  std::string_view meaning, unit;  ///< of the result
  Exponents exps{};
  double value = 0;  ///< of the result, base unit
  double step = 0.1;
  Method method = Method::exact;
  std::vector<Lever> levers;  ///< largest effect first
  std::string binding;        ///< what limits the result, with its shadow price; empty where nothing does
  std::vector<Assumption> assumptions;
  std::vector<std::string> warnings;

  /// A change of the result as levers hold it: "5 %", or "3.2 MB" where the result is 0.
  [[nodiscard]] std::string change_text(double change, int digits) const;
};

/// Sensitivities to the inputs that are named, else to all but the sizes of models.
/// @throws LookupError for names that are none, DomainError for a step outside of (0, 1) or a result that is
/// not finite
[[nodiscard]] SensitivityReport sensitivity(const Subject& subject, std::string_view result,
                                            const SensitivityOptions& options = {});

}  // namespace mlsysim
