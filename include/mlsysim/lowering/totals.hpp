#pragma once
/// Sums over an operator list: what textbook formulas, the memory model and reports need of it.

#include <mlsysim/lowering/op.hpp>

namespace mlsysim {

/// Totals of the forward operators on one device.
template <class T = double>
struct ListTotals {
  Params<T> dense_params, expert_params;  ///< weights stored, outside and inside the routed experts
  Work<T> work;                           ///< products, convolutions, attention and the rest, one forward pass
  Data<T> traffic;
  Data<T> kept;       ///< activations kept for the backward pass, one micro-batch
  Data<T> layer_kept; ///< the same of one block
  Data<T> live;       ///< largest working set of one operator
  Data<T> state;      ///< KV cache and recurrent states

  [[nodiscard]] Params<T> params() const { return dense_params + expert_params; }
};

/// Sums the forward operators [0, end) of the list.
template <class T>
[[nodiscard]] ListTotals<T> totals_of(const OpList<T>& ops, std::size_t end) {
  ListTotals<T> t;
  for (std::size_t i = 0; i < end; ++i) {
    const Op<T>& op = ops[i];
    if (op.pass != Pass::forward) continue;
    const bool routed = op.group == OpGroup::experts && op.name.starts_with("expert_");
    (routed ? t.expert_params : t.dense_params) += op.params * op.count;
    t.work += op.work * op.count;
    t.traffic += op.traffic * op.count;
    t.kept += op.kept * op.count;
    t.state += op.state * op.count;
    // A block holds each of its operators once where the operator occurs at all.
    if (op.per_layer) t.layer_kept += op.kept * min(op.count, T{1.0});
    t.live = max(t.live, op.live * min(op.count, T{1.0}));
  }
  return t;
}

}  // namespace mlsysim
