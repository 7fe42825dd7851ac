#pragma once
/// First sentences of answers: the verdict on a setup, and the changes that move a result most.
///
/// Example: Llama3_70B on 8 H100, batch 16, bf16, 512 output tokens: "FITS. 15.2 ms per token, TTFT 138 ms,
/// $3.05 per million tokens. Limited by memory bandwidth."

#include <mlsysim/engine/plan_assertion.hpp>
#include <mlsysim/engine/scorecard.hpp>
#include <mlsysim/explore/ask/sensitivity.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Names what limits the time of a level: "memory bandwidth". Empty where the level does not say.
[[nodiscard]] std::string limit_of(const EvaluationLevel& level);

/// The verdict on an evaluation, with missed assertions.
[[nodiscard]] std::string verdict_of(const SystemEvaluation& e,
                                     std::span<const AssertionResult> assertions = {});

/// A change that makes a plan fit as options: "2 accelerators (now 1) with tp_size 2" is
/// "--accelerators 2 --tp-size 2".
[[nodiscard]] std::string as_options(std::string_view change);

/// The changes that move the result most, a sentence each, largest effect first: "Memory bandwidth: 10 % more
/// cuts ITL (11.2 ms) by 4.7 %, at most by 41 %."
struct LeverSentences {
  std::vector<std::string> choices, hardware;  ///< inputs that a user sets, and parameters of a device
};
[[nodiscard]] LeverSentences lever_sentences(const SensitivityReport& r);

}  // namespace mlsysim
