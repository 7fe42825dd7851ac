#pragma once
/// Inverts a result: finds the values of one input at which a condition on the result holds.
///
/// Continuous inputs are scanned at 256 points and refined, so a pair of close solutions may be missed. The
/// answer says whether the search was exhaustive, as it usually is for counts. Parallel degrees that `eval`
/// refuses are passed over, and so are degrees that do not fit in memory. Any other answer beyond the memory
/// moves to the last value that fits. The answer is put back into the law and checked. No solution that fits
/// is an answer too: it says what can be reached, or how much memory is missing.
/// Example: Llama3_70B on 8x H100 in one burst, 2,048 tokens in, 512 out: "itl <= 15 ms" for batch_size gives
/// 75, where ITL is 14.96 ms. 76 does not meet it.

#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/resolver_api/check.hpp>
#include <mlsysim/resolver_api/expression.hpp>
#include <mlsysim/resolver_api/outcome.hpp>
#include <mlsysim/tape/invert.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace mlsysim {

/// An input that meets the condition, all others, and how it was found.
struct SolveAnswer {
  std::string subject, condition, free;
  FieldInfo input, result;  ///< the free input and the result that was asked for
  double value = 0;         ///< of the free input, base unit: where the condition starts or stops being met
  double at_value = 0;      ///< the result there, base unit
  /// Counts: the next one beside the answer, which does not meet the condition; of degrees, the next that is
  /// a plan.
  std::optional<double> beside{};
  /// Names a value that meets the condition but does not fit in memory: "320 meets the condition as well, but
  /// does not fit: ...". Empty if memory does not limit the answer.
  std::string memory{};
  Inversion inversion;        ///< all solutions, the domain, how it was searched
  Verification verification;  ///< the residual, or the integer threshold
  std::vector<Assumption> assumptions;

  /// Words for the check of the answer against the condition: "checked: 43 meets the condition, 44 does not".
  [[nodiscard]] std::string check_text() const;
  /// "batch_size 43: itl is 49.9 ms; met from 1 to 43".
  [[nodiscard]] std::string text() const;
};

/// Limits of the search; by default the range of the input.
struct SolveDomain {
  std::optional<AnyQuantity> low{}, high{};
};

/// Solves `condition` ("itl <= 50 ms", "mfu == 0.4") for the input `free`.
///
/// The left side is a result by name, the right side a constant.
/// @throws LookupError, DimensionError, InputError for a question that does not read
[[nodiscard]] Outcome<SolveAnswer> solve(const Subject& subject, std::string_view condition,
                                         std::string_view free, const SolveDomain& domain = {});

}  // namespace mlsysim
