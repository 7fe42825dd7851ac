#pragma once
/// Bytes of weights as they are stored.

#include <mlsysim/lowering/structure.hpp>
#include <mlsysim/specs/views.hpp>

namespace mlsysim {

/// Bytes of weights as they are stored: `edge` of the `dense` ones lie before and behind the blocks.
template <class T>
[[nodiscard]] Data<T> stored_weights(const Structure& structure, const Plan<T>& plan, const Params<T>& dense,
                                     const Params<T>& expert, const Params<T>& edge) {
  Data<T> all = plan.weight_bytes * (dense + expert);
  if (structure.mixed_storage)
    all += (plan.edge_bytes - plan.weight_bytes) * edge + (plan.expert_bytes - plan.weight_bytes) * expert;
  return all;
}

}  // namespace mlsysim
