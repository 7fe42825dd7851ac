#pragma once
/// Recomputation and backward pass: rules on the forward list.

#include <mlsysim/lowering/emit.hpp>

namespace mlsysim::detail {

/// Repeats what recomputation does not keep: whole blocks (full) or the attention core (selective).
template <class T>
void recompute(const Structure& structure, OpList<T>& ops, std::size_t forward_end) {
  if (structure.recomputation == Recomputation::none) return;
  for (std::size_t i = 0; i < forward_end; ++i) {
    const bool core = ops[i].kind == OpKind::attention;
    if (!ops[i].per_layer || (structure.recomputation == Recomputation::selective && !core)) continue;
    Op<T> again = ops[i];
    again.pass = Pass::recompute;
    again.params = {};
    again.kept = {};
    ops.push(again);
  }
}

/// Appends the backward pass of the forward operators [0, forward_end), last first.
template <class T>
void backward(const Structure& structure, const Plan<T>& plan, OpList<T>& ops, std::size_t forward_end) {
  for (std::size_t i = forward_end; i-- > 0;) {
    const Op<T> forward = ops[i];
    Op<T> op = forward;
    op.pass = Pass::backward;
    op.params = {};
    op.kept = {};
    op.state = {};
    switch (forward.kind) {
      case OpKind::matmul:
      case OpKind::convolution: {
        // Gradient of the input: the product with the transposed weights.
        op.n = forward.k;
        op.k = forward.n;
        ops.push(op);
        // Gradient of the weights: activations transposed times output gradient; the gradient is read and written.
        op.m = forward.k;
        op.n = forward.n;
        op.k = forward.m;
        op.traffic = forward.live + 2.0 * (plan.gradient_bytes * forward.params) * plan.trainable;
        op.unfused_traffic = op.traffic;
        op.count = forward.count * select(plan.trainable > T{0.0}, T{1.0}, T{0.0});
        ops.push(op);
        break;
      }
      case OpKind::attention:
        // Four products instead of two; a fused kernel also forms the scores again.
        op.work = forward.work * (structure.kernel == AttentionKernel::fused ? 2.5 : 2.0);
        op.traffic = 2.0 * forward.traffic;
        op.unfused_traffic = 2.0 * forward.unfused_traffic;
        ops.push(op);
        break;
      case OpKind::elementwise:
      case OpKind::gather:
      case OpKind::recurrence:
        op.work = 2.0 * forward.work;
        op.traffic = 1.5 * forward.traffic;
        op.unfused_traffic = 1.5 * forward.unfused_traffic;
        ops.push(op);
        break;
      case OpKind::collective:
        // The transpose of an all-gather is a reduce-scatter; the others are their own transposes.
        if (forward.collective == Collective::all_gather) op.collective = Collective::reduce_scatter;
        else if (forward.collective == Collective::reduce_scatter) op.collective = Collective::all_gather;
        ops.push(op);
        break;
    }
  }
}

}  // namespace mlsysim::detail
