#pragma once
/// Where a number comes from: any result of a scenario, a law, a model or a solver, law by law.

#include <mlsysim/engine/explain.hpp>
#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/tape/derivation.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// The derivation of one number with everything that went into it.
struct Explanation {
  std::string subject, result, meaning, unit;
  Exponents exps{};
  double value = 0;  ///< canonical base unit
  /// The records that the number depends on, and no others. Record 0 is the subject. A resolver that is not a
  /// law has record 0 only.
  Derivation derivation;
  /// In words: which numbers were not derived but handed in, and by whom. Empty where the derivation starts
  /// from what was asked.
  std::vector<std::string> handed_in;
  // Only a number of a scenario has terms, operators and figures.
  std::function<std::string()>
      terms;  ///< writes the text of `explain`; empty but for a sum over operators and a memory
  std::vector<OperatorRow> operators;  ///< of that pass
  std::vector<DeviceFigure> figures;
  std::vector<Assumption> assumptions;
  std::vector<std::string> warnings;
  std::shared_ptr<const void> keeps;  ///< what the texts of the derivation belong to
};

/// Derives a result of a subject.
///
/// A scenario at operator fidelity and a law are derived operation by operation. Of a scenario at another
/// fidelity or of a whole inference pass, the parts that are laws are, and `handed_in` names the numbers that
/// other code computed. Of a resolver that is no law the inputs, the stated equation and the result are
/// known.
/// @param result name of a result, also with its level: "itl", "macro.tco"
/// @param open   ids of laws whose every operation is recorded too
/// @throws LookupError with near misses
[[nodiscard]] Explanation explanation(const Subject& subject, std::string_view result,
                                      std::span<const std::string> open = {});
/// The same for a resolver at these inputs: through its law, or through the law that its numbers are computed
/// by once its inputs are prepared (engine/detail/settle.hpp). Of any other the inputs, the stated equation
/// and the result are known.
/// @param inputs a live struct of the resolver
[[nodiscard]] Explanation explanation(std::shared_ptr<const Resolver> resolver, const void* inputs,
                                      std::string_view result, std::span<const std::string> open = {});
/// The same for any number of a scorecard, with the terms that it is made of and the figures of the device.
/// "memory" is "memory_used".
[[nodiscard]] Explanation explanation(const Scenario& scenario, std::string_view metric,
                                      std::span<const std::string> open = {});
/// Numbers of the scorecard that `explanation` derives.
[[nodiscard]] std::vector<std::string> explainable_numbers(const Scenario& scenario);

}  // namespace mlsysim
