#pragma once
/// Checks before the start whether a launch fits in the memory of its devices, and how many requests it
/// holds.
///
///   pool = capacity - weights - state - reserve - margins        [B] of one device
///   requests = floor(tokens of the pool / longest request) * data-parallel ranks
///
/// The memory rules are those of the engine: share of memory, context, workspaces, activations of the largest
/// pass. vLLM takes all positions of the model where the launch does not limit the length of a request.
/// Example: `vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 4 --max-model-len 8192` on H100: the pool of
/// 41.6 GB holds 507,808 tokens, so 61 requests of 8,192 tokens fit.

#include <mlsysim/engine/scorecard.hpp>

#include <string>
#include <vector>

namespace mlsysim {

struct BuiltScenario;
struct Launch;
struct Scenario;
class Zoo;

/// A part of the memory of one device.
struct FitItem {
  std::string part, what;
  Data<> bytes;
};

struct Fit {
  bool fits = false;
  std::string summary;  ///< one line: what fits, or what is missing
  double requests = 0;  ///< that an engine holds at once when all are the longest, on all its ranks
  double ranks = 1;     ///< data-parallel ranks of the launch, each with a cache of its own
  std::vector<FitItem> items;
  std::vector<Remedy> changes;  ///< where it does not fit: changes each of which makes it fit, smallest first
  std::vector<std::string> notes;  ///< what names were taken for, and what was assumed on the way in
};

/// The memory of a scenario, by the memory model of its mode. @throws as SystemEvaluator::evaluate
[[nodiscard]] Fit fit_of(const Scenario& scenario);
/// The memory of a scenario that was built of names, with what they were taken for.
[[nodiscard]] Fit fit_of(const BuiltScenario& built);
/// The memory of a launch, by the rules of its serving engine. It fits where the longest request does.
/// @throws as Launch::build and memory_account
[[nodiscard]] Fit fit_of(const Launch& launch, const Zoo& zoo);

}  // namespace mlsysim
