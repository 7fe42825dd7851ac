#pragma once
/// Derives one result of a scenario or resolver, law by law, down to the inputs, operators and sources behind
/// it.
///
/// A scenario at operator fidelity, and a law, are derived operation by operation. `handed_in` lists the
/// numbers that code prepared before the laws, such as the parameters of the device.
/// Example: ITL of Llama3_70B on 8x H100, 16 requests in one burst, 512 out: 11.11 ms, in 25 law records.

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
/// A scenario at another fidelity and a whole inference pass are derived where their parts are laws. A
/// resolver that is no law has its inputs, its stated equation and its result.
/// @param result name of a result, also with its level: "itl", "macro.tco"
/// @param open   ids of laws whose every operation is recorded too
/// @throws LookupError with near misses
[[nodiscard]] Explanation explanation(const Subject& subject, std::string_view result,
                                      std::span<const std::string> open = {});
/// Derives a result of a resolver: through its law, or through the law that computes its numbers once its
/// inputs are prepared (engine/detail/settle.hpp).
/// @param inputs a live struct of the resolver
[[nodiscard]] Explanation explanation(std::shared_ptr<const Resolver> resolver, const void* inputs,
                                      std::string_view result, std::span<const std::string> open = {});
/// Derives any number of a scorecard, with its terms and the parameters of the device. "memory" stands for
/// "memory_used".
[[nodiscard]] Explanation explanation(const Scenario& scenario, std::string_view metric,
                                      std::span<const std::string> open = {});
/// Numbers of the scorecard that `explanation` derives.
[[nodiscard]] std::vector<std::string> explainable_numbers(const Scenario& scenario);

}  // namespace mlsysim
