#pragma once
/// Translates a resolved scenario into resolver inputs, and finds changes that make it fit in memory.
///
/// Example: Llama3_70B on one H100, batch size 1: 148 GB needed, 85.9 GB available. Two changes make it fit:
/// precision fp8 (74.7 GB), or 2 accelerators with tp_size 2 (74.4 GB each).

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/economics.hpp>
#include <mlsysim/resolvers/models/inference_pass.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/resolvers/models/single_node.hpp>

namespace mlsysim::detail {

[[nodiscard]] SingleNodeModel::Inputs infer_request(const ResolvedScenario& s);
/// Whether one inference is a whole pass of a model without an operator list: the steps of a diffusion model,
/// the state of a state-space model, the lookups of a recommendation model. `InferencePassModel` computes it.
[[nodiscard]] bool is_whole_pass(const ResolvedScenario& s);
[[nodiscard]] InferencePassModel::Inputs pass_request(const ResolvedScenario& s);
[[nodiscard]] MemoryBreakdown<> pass_memory(const ResolvedScenario& s,
                                            const InferencePassModel::Result& pass);
[[nodiscard]] ServingModel::Inputs serve_request(const ResolvedScenario& s);
/// The format in which a scenario computes.
[[nodiscard]] Precision precision_of(const ResolvedScenario& s);
[[nodiscard]] DistributedModel::Inputs train_request(const ResolvedScenario& s);

/// Memory of one device at these changes; used to look for remedies.
struct Memory {
  Data<> total, capacity;
  [[nodiscard]] bool fits() const { return total <= capacity; }
};
[[nodiscard]] Memory memory_needed(const ResolvedScenario& s);

/// Changes, one at a time, after which the scenario fits; nearest first.
[[nodiscard]] std::vector<Remedy> remedies_for(const ResolvedScenario& s);

}  // namespace mlsysim::detail
