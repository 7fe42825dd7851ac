#pragma once
/// Recomputation and backward pass of a training step, derived from the forward list.
///
///     product       2 m n k forward: 2 m n k for the input gradient, 2 m n k for the weight gradient
///     attention     2.5 x the work, because scores are formed again, and 2 x the bytes
///     element-wise  2 x the work, 1.5 x the bytes (norms: 2 x)
///     all-gather and reduce-scatter swap
///
/// Frozen weights have no gradient. Recomputation repeats the named parts in a share of the blocks.
/// By operator, it repeats all but attention and every second product.
///
/// Example: Llama-3.1-8B, one sequence of 4,096 tokens, nothing recomputed.
/// Forward 65.9 TFLOP, backward 72.5 + 61.5 = 134 TFLOP, of which 61.5 are weight gradients.

#include <mlsysim/lowering/emit.hpp>

#include <utility>

namespace mlsysim::detail {

template <class T> void recompute_by_operator(const Plan<T>& plan, OpList<T>& ops, std::size_t forward_end) {
  for (std::size_t i = 0; i < forward_end; ++i) {
    ops.reserve(1);
    Op<T>& op = ops[i];
    if (op.place != StageScope::every_block || op.kind == OpKind::collective) continue;
    const bool weights = op.kind == OpKind::matmul && !(op.parts & part::core);
    // Sums are over many products, so half of each stands for every second one.
    const double repeated = weights ? 0.5 : op.kind == OpKind::attention ? 0.0 : 1.0;
    Data<T> output = plan.activation_bytes * (weights ? 0.5 * op.m * op.n * op.copies : T{0.0});
    if (op.kind == OpKind::attention) output = op.working_set * 0.5;  // of queries and values
    if (op.recompute_parts == part::none) output = op.saved_bytes;    // the block's own input
    op.recomputed_bytes = op.saved_bytes * plan.recomputed;
    op.saved_bytes = op.saved_bytes * (1.0 - plan.recomputed) + output * plan.recomputed;
    if (repeated == 0.0) continue;
    Op<T>& again = ops.push(op);
    again.pass = Pass::recompute;
    again.count = op.count * plan.recomputed * repeated;
    again.params = {};
    again.saved_bytes = again.recomputed_bytes = {};
  }
}

/// Whether an operator lies behind the last value that the backward pass of its block needs: the last product
/// of a dense feed-forward, of which it needs the input alone, and the sum of its parts. What dropout or the
/// weights of experts do with the result needs it.
template <class T> [[nodiscard]] bool behind_last_input(const Structure& structure, const Op<T>& op) {
  if (structure.dropout) return false;
  return op.name == "ffn_down" || (op.name == "ffn_tp_reduce" && op.collective != Collective::all_gather);
}

/// Repeats the parts that recomputation names, in `plan.recomputed` of the blocks, and drops what need not be
/// kept. A fused attention kernel forms its scores again in any case, so there is no core to repeat. Software
/// that stops early repeats whole blocks up to the last value that is needed.
///
/// Recomputation by operator keeps what attention and every second product write, and repeats the other
/// products and everything between them.
template <class T>
void recompute(const Structure& structure, const Plan<T>& plan, OpList<T>& ops, std::size_t forward_end) {
  if (structure.per_operator) return recompute_by_operator(plan, ops, forward_end);
  if (structure.recomputed == part::none) return;
  const T kept_share = 1.0 - plan.recomputed;
  for (std::size_t i = 0; i < forward_end; ++i) {
    ops.reserve(1);
    Op<T>& op = ops[i];
    if (op.place != StageScope::every_block) continue;
    if (op.recompute_parts & structure.recomputed) {
      op.recomputed_bytes = op.saved_bytes * plan.recomputed;
      op.saved_bytes *= kept_share;
    }
    if (!(op.parts & structure.recomputed)) continue;
    if (structure.early_stop && structure.recomputed == part::all && behind_last_input(structure, op))
      continue;
    Op<T>& again = ops.push(op);
    again.pass = Pass::recompute;
    again.count = op.count * plan.recomputed;
    again.params = {};
    again.saved_bytes = again.recomputed_bytes = {};
  }
}

/// Gradient of a bias: the sum of the output's gradient over the rows, a pass over it.
template <class T> void bias_gradient(const Op<T>& weights, const Plan<T>& plan, OpList<T>& ops) {
  Op<T>& op = emit(ops, OpKind::elementwise, weights.group, "bias_gradient", weights.count * weights.biased);
  op.pass = Pass::weight_gradient;
  op.place = weights.place;
  const T values = weights.k * weights.n * weights.copies;
  op.work = flops<T>(values);
  op.memory_bytes = plan.activation_bytes * values;
}

/// Appends the backward pass of the forward operators [0, forward_end), last first.
template <class T>
void backward(const Structure& structure, const Plan<T>& plan, OpList<T>& ops, std::size_t forward_end) {
  const auto mirror = [&](const Op<T>& forward, Pass pass) -> Op<T>& {
    Op<T>& op = ops.push(forward);
    op.pass = pass;
    op.params = {};
    op.saved_bytes = op.recomputed_bytes = op.state = {};
    return op;
  };
  for (std::size_t i = forward_end; i-- > 0;) {
    ops.reserve(4);
    const Op<T>& forward = ops[i];
    // A loss that runs with the head has made its gradients already.
    if (structure.chunks_loss() && forward.group == OpGroup::head && forward.kind == OpKind::elementwise)
      continue;
    Op<T>& op = mirror(forward, Pass::backward);
    switch (forward.kind) {
      case OpKind::matmul:
      case OpKind::convolution: {
        // Gradient of the input: the product with the transposed weights.
        op.n = forward.k;
        op.k = forward.n;
        // Gradient of the weights: activations transposed times output gradient; the gradient is read and
        // written. A product of two activations has a second input instead of weights, and its gradient
        // cannot wait.
        const bool weights = !(forward.parts & part::core);
        Op<T>& gradient = mirror(forward, weights ? Pass::weight_gradient : Pass::backward);
        gradient.m = forward.k;
        gradient.k = forward.m;
        if (!weights) break;
        gradient.memory_bytes = forward.working_set + 2.0 * (plan.gradient_bytes * forward.params);
        // Frozen weights have no gradient.
        if (!(forward.parts & part::adapter)) gradient.count = forward.count * plan.trainable;
        if (structure.biased) bias_gradient(gradient, plan, ops);
        break;
      }
      case OpKind::attention:
        op.work = forward.work * kAttentionBackward;
        op.memory_bytes = 2.0 * forward.memory_bytes;
        break;
      case OpKind::elementwise:
      case OpKind::gather:
      case OpKind::recurrence:
        // A function of one array reads it and the gradient and writes one. A norm reads both twice, once for
        // the gradients of its weights, and the residual's gradients are summed: ten arrays for five, and a
        // mask once.
        if (forward.parts & part::widened) break;  // once more, for the gradient of the input
        op.work = 2.0 * forward.work;
        if (forward.group == OpGroup::norm) {
          op.memory_bytes += forward.working_set;
        } else {
          op.memory_bytes = 1.5 * forward.memory_bytes;
        }
        break;
      case OpKind::collective:
        // Gradients come back from the experts as tokens went there, and the other way round.
        if (forward.comm_group == CommGroup::ep) std::swap(op.message, op.message_back);
        // The transpose of an all-gather is a reduce-scatter; the others are their own transposes.
        if (forward.collective == Collective::reduce_scatter) {
          op.collective = Collective::all_gather;
        } else if (forward.collective == Collective::all_gather) {
          op.collective = Collective::reduce_scatter;
          // With sequence parallelism the input of the products is kept divided: their weight gradients
          // gather it again.
          if (forward.overlap_with == OverlapWith::product)
            mirror(forward, Pass::backward).overlap_with = OverlapWith::pass;
        }
        break;
      case OpKind::host_transfer:
      case OpKind::host_compute:
        break;  // what went out comes back
    }
  }
}

}  // namespace mlsysim::detail
