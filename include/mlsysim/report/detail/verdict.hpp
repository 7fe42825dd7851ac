#pragma once
/// First sentences of answers, in words.

#include <mlsysim/engine/plan_assertion.hpp>
#include <mlsysim/engine/scorecard.hpp>
#include <mlsysim/explore/ask/sensitivity.hpp>

#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// "FITS. 11.2 ms per token, TTFT 114 ms, $37.7 per million tokens. Limited by memory bandwidth."
[[nodiscard]] std::string verdict_of(const SystemEvaluation& e,
                                     std::span<const AssertionResult> assertions = {});

/// The changes that move the result most, a sentence each, largest effect first: "Memory bandwidth: 10 % more
/// cuts ITL (11.2 ms) by 4.7 %, at most by 41 %."
struct LeverSentences {
  std::vector<std::string> choices, hardware;  ///< what a user sets, and what a device brings
};
[[nodiscard]] LeverSentences lever_sentences(const SensitivityReport& r);

}  // namespace mlsysim
