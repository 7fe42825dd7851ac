#pragma once
/// Bytes of weights as they are stored, with formats of their own for embedding, head and routed experts.
///
///     bytes = weight_bytes (dense - edge) + edge_bytes edge + expert_bytes expert
///
/// edge: dense weights before and behind the blocks. With one format: weight_bytes (dense + expert).
///
/// Example: 100 dense weights, 10 of them edge, 200 in experts, at 3, 5 and 1 B: 270 + 50 + 200 = 520 B.

#include <mlsysim/lowering/structure.hpp>
#include <mlsysim/specs/views.hpp>

namespace mlsysim {

template <class T>
[[nodiscard]] Data<T> stored_weights(const Structure& structure, const Plan<T>& plan, const Params<T>& dense,
                                     const Params<T>& expert, const Params<T>& edge) {
  Data<T> all = plan.weight_bytes * (dense + expert);
  if (structure.mixed_storage)
    all += (plan.edge_bytes - plan.weight_bytes) * edge + (plan.expert_bytes - plan.weight_bytes) * expert;
  return all;
}

}  // namespace mlsysim
