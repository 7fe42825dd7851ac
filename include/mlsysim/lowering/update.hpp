#pragma once
/// What happens between the passes and once a step: pipeline transfers, gradient exchange, optimizer.

#include <mlsysim/lowering/emit.hpp>
#include <mlsysim/lowering/totals.hpp>

namespace mlsysim::detail {

/// Sends the block's output to the next pipeline stage (and its gradient back, by the backward rule).
template <class T>
void pipeline_transfer(const Structure& structure, const Shape<T>& shape, const Plan<T>& plan, OpList<T>& ops) {
  const T values = plan.batch / plan.ep * plan.new_tokens * shape.hidden / (structure.sequence_parallel ? plan.tp : T{1.0});
  auto& op = collective(ops, "pipeline_transfer", Collective::point_to_point, plan.virtual_stages,
                        plan.activation_bytes * values, plan.pp, plan.tp * plan.ep * plan.dp);
  op.per_layer = false;
}

/// ZeRO-3 gathers the weights before each pass over them.
template <class T>
void gather_weights(const Structure& structure, const Plan<T>& plan, OpList<T>& ops, std::size_t forward_end) {
  if (structure.zero_stage < 3) return;
  const auto total = totals_of(ops, forward_end);
  auto& dense = collective(ops, "weight_gather", Collective::all_gather, T{1.0}, plan.weight_bytes * total.dense_params,
                           plan.dp * plan.ep, plan.tp);
  dense.per_layer = false;
  dense.hidable = true;
  auto& experts = collective(ops, "expert_weight_gather", Collective::all_gather, T{1.0},
                             plan.weight_bytes * total.expert_params, plan.dp, plan.tp * plan.ep);
  experts.per_layer = false;
  experts.hidable = true;
}

/// Gradient exchange over the replicas and the optimizer's update.
template <class T>
void update(const Structure& structure, const Plan<T>& plan, OpList<T>& ops, std::size_t forward_end) {
  const auto total = totals_of(ops, forward_end);
  const auto exchange = [&](std::string_view reduce, std::string_view gather, const Params<T>& weights, const T& ranks,
                            const T& stride) {
    const Data<T> gradients = plan.gradient_bytes * weights * plan.trainable;
    auto& op = collective(ops, reduce,
                          structure.zero_stage == 0 ? Collective::all_reduce : Collective::reduce_scatter, T{1.0},
                          gradients, ranks, stride);
    op.pass = Pass::update;
    op.per_layer = false;
    if (structure.zero_stage == 1 || structure.zero_stage == 2) {
      auto& back = collective(ops, gather, Collective::all_gather, T{1.0}, plan.weight_bytes * weights * plan.trainable,
                              ranks, stride);
      back.pass = Pass::update;
      back.per_layer = false;
    }
  };
  // Expert-parallel ranks are data-parallel for everything but the experts.
  exchange("gradient_exchange", "weight_exchange", total.dense_params, plan.dp * plan.ep, plan.tp);
  if (structure.moe)
    exchange("expert_gradient_exchange", "expert_weight_exchange", total.expert_params, plan.dp, plan.tp * plan.ep);

  Op<T> op;
  op.kind = OpKind::elementwise;
  op.group = OpGroup::optimizer;
  op.pass = Pass::update;
  op.per_layer = false;
  op.name = "optimizer";
  const Params<T> weights = (total.dense_params / (plan.dp * plan.ep) + total.expert_params / plan.dp) * plan.trainable;
  const Params<T> whole = (total.dense_params + total.expert_params) * plan.trainable;
  const Params<T> mine = structure.zero_stage >= 1 ? weights : whole;
  op.work = Work<T>::from_base(12.0 * mine.base());
  op.traffic = (plan.gradient_bytes + 2.0 * plan.state_bytes + plan.weight_bytes) * mine;
  op.unfused_traffic = op.traffic;
  ops.push(op);
}

}  // namespace mlsysim::detail
