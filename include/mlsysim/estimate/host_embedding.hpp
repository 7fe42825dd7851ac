#pragma once
/// The input embedding, where the host reads its rows.

#include <mlsysim/timing/step.hpp>

namespace mlsysim {

/// The demands of a served pass without the rows of the embedding, where the host computes: llama.cpp keeps
/// them in host memory, whatever it offloads. An output matrix that is the embedding stays on the device.
/// @cite llama-cpp-fit
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
