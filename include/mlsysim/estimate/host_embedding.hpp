#pragma once
/// Memory demand of a served pass when the host keeps the input embedding, as llama.cpp does.
///
///     rows = (vocab / tp + position_rows) hidden own_head          weights that leave the first stage
///
/// own_head: 0 where the output matrix is the embedding, which then stays on the device, else 1.
/// Nothing changes where the host does not compute.
/// @cite llama-cpp-fit
///
/// Example: Llama-3.1-8B, TP 1: 128,256 x 4,096 = 525,336,576 weights, 1.05 GB in bf16.

#include <mlsysim/timing/pass.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// The demands of a served pass without the rows of the embedding, where the host computes.
template <class T>
[[nodiscard]] StageDemands<T> without_embedding(StageDemands<T> demands, const ModelView<T>& model,
                                                const Plan<T>& plan) {
  if (!model.structure.host_computes) return demands;
  const auto& stack = model.shape();
  const Params<T> rows =
      (1.0 * unit::param) * T((stack.vocab / plan.tp + stack.position_rows) * stack.hidden * stack.own_head);
  demands.first.dense_params -= rows;
  // The last stage of several has no embedding.
  demands.last.dense_params -= rows * select(plan.pp > T{1.0}, T{0.0}, T{1.0});
  return demands;
}

}  // namespace mlsysim
