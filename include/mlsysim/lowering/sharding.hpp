#pragma once
/// Traffic of weights, gradients and optimizer states: ZeRO collectives, pipeline transfers and host offload.
///
///     ZeRO 0     all-reduce of the gradients once a step
///     ZeRO 1     reduce-scatter of the gradients, all-gather of the weights, once a step
///     ZeRO 2     reduce-scatter with every micro-batch, all-gather once a step
///     ZeRO 3     reduce-scatter and two all-gathers of the weights with every micro-batch
///     optimizer  memory_bytes = (gradient_bytes + 2 state_bytes + weight_bytes) weights of the rank
///
/// Gradients travel in buckets, ZeRO-3 layer by layer. Hybrid sharding adds an all-reduce over its groups.
/// Offloaded bytes cross the host link, and the host may update the weights whose states it holds.
/// @cite li2020pytorch, section 3.2.2; ren2021zerooffload, sections 4 and 5
///
/// Example: 1e9 weights in bf16, 8 replicas: ZeRO 0 reduces 2 GB a step. ZeRO 3 moves 3 x 2 GB a micro-batch.

#include <mlsysim/lowering/emit.hpp>
#include <mlsysim/lowering/holders.hpp>
#include <mlsysim/lowering/stored.hpp>
#include <mlsysim/lowering/totals.hpp>

namespace mlsysim::detail {

/// Sends the block's output to the next pipeline stage (and its gradient back, by the backward rule). Each
/// tensor-parallel rank sends its part; ranks that need the whole gather it inside the node (Narayanan et al.
/// 2021, section 4.1).
/// @param chunks model chunks whose outputs are sent
template <class T>
void pipeline_transfer(const Structure& structure, const StackView<T>& stack, const Plan<T>& plan,
                       const T& chunks, OpList<T>& ops) {
  ops.reserve(2);
  const T values = sequences_of(plan) * plan.new_tokens / plan.cp * stack.hidden;
  const Data<T> whole = plan.activation_bytes * values;
  const T sent = chunks * select(plan.pp > T{1.0}, T{1.0}, T{0.0});
  collective(ops, "pipeline_transfer", Collective::point_to_point, CommGroup::pp, sent, whole / plan.tp,
             plan.pp, plan.tp * plan.cp * plan.sequence_ranks() * plan.dp)
      .place = StageScope::every_stage;
  if (!structure.sequence_parallel)
    collective(ops, "pipeline_gather", Collective::all_gather, CommGroup::pp, sent, whole, plan.tp, T{1.0})
        .place = StageScope::every_stage;
}

/// Collectives in which `bytes` of a stage's weights or gradients travel over the replicas, of `layers`
/// layers.
///
/// A bucket collects small messages until it is full. A layer larger than a bucket travels on its own (Li et
/// al. 2020, section 3.2.2). ZeRO-3 holds the weights of one layer at a time, so it cannot wait.
/// @cite li2020pytorch, section 3.2.2
template <class T>
[[nodiscard]] T exchanges_of(const Structure& structure, const Plan<T>& plan, const T& layers,
                             const Data<T>& bytes) {
  if (structure.zero_stage >= 3) return layers;
  const Data<T> byte = Data<T>::from_base(T{1.0});  // no bucket: each layer by itself
  return clamp(T(ceil(bytes / max(plan.exchange_bucket, byte))), T{1.0}, layers);
}

/// A collective of weights or gradients, `pieces` times a pass.
template <class T>
void shard_collective(OpList<T>& ops, std::string_view name, Collective pattern, Pass pass, StageScope place,
                      const T& pieces, const Data<T>& message, const T& ranks, const T& stride) {
  auto& op = collective(ops, name, pattern, CommGroup::dp, pieces, message, ranks, stride);
  op.pass = pass;
  op.place = place;
  op.overlap_with = OverlapWith::pass;
}

/// Gradients: reduced over all holders. Up to stage 1 once a step; from stage 2 on with every micro-batch,
/// because a device has no room for the sum of all gradients (FSDP does the same). Hybrid sharding reduces
/// inside the group that shares one copy and then over the groups.
template <class T>
void exchange_gradients(const Structure& structure, const Plan<T>& plan, OpList<T>& ops, StageScope place,
                        const T& layers, const Params<T>& trained, const Holders<T>& h) {
  const Data<T> all = plan.gradient_bytes * trained;
  const T pieces = exchanges_of(structure, plan, layers, all);
  const Data<T> gradients = all / pieces;
  const Pass pass = structure.zero_stage >= 2 ? Pass::backward : Pass::update;
  if (structure.zero_stage == 0) {
    shard_collective(ops, "gradient_exchange", Collective::all_reduce, pass, place, pieces, gradients,
                     h.ranks, h.stride);
    return;
  }
  shard_collective(ops, "gradient_scatter", Collective::reduce_scatter, pass, place, pieces, gradients,
                   h.shards, h.stride);
  shard_collective(ops, "gradient_exchange", Collective::all_reduce, pass, place, pieces,
                   gradients / h.shards, h.ranks / h.shards, h.stride * h.shards);
}

/// Weights that are trained, of `weights` that a place has: a share of them, or the adapters alone.
template <class T>
[[nodiscard]] Params<T> trained_of(const Structure& structure, const Plan<T>& plan, const Params<T>& weights,
                                   const Params<T>& adapters) {
  return structure.adapts() ? adapters : weights * plan.trainable;
}

/// Weights: gathered after the update (stages 1 and 2) or before each pass that uses them (stage 3). Without
/// prefetch the backward pass asks for the next block's weights only when it is done with a block, and waits
/// for them.
template <class T>
void gather_weights(const Structure& structure, const Plan<T>& plan, OpList<T>& ops, StageScope place,
                    const T& layers, const Params<T>& weights, const DataPerParam<T>& bytes_each,
                    const Params<T>& trained, const Holders<T>& h) {
  const auto gather = [&](Pass pass, const Data<T>& bytes) {
    const T pieces = exchanges_of(structure, plan, layers, bytes);
    shard_collective(ops, "weight_gather", Collective::all_gather, pass, place, pieces, bytes / pieces,
                     h.shards, h.stride);
  };
  if (structure.zero_stage >= 3) {
    const Data<T> all = bytes_each * weights;
    gather(Pass::forward, all);
    gather(Pass::backward, all);
    if (!structure.prefetch) ops[ops.size() - 1].overlap_with = OverlapWith::nothing;
  } else if (structure.zero_stage >= 1) {
    gather(Pass::update, (structure.adapts() ? plan.adapter_bytes : plan.weight_bytes) * trained);
  }
}

/// Bytes over the host link, one way; the other way is free to work at the same time.
template <class T>
void host_transfer(OpList<T>& ops, std::string_view name, Pass pass, StageScope place, const T& count,
                   const Data<T>& bytes) {
  auto& op = emit(ops, OpKind::host_transfer, OpGroup::communication, name, count);
  op.pass = pass;
  op.place = place;
  op.comm_group = CommGroup::host;
  op.overlap_with = OverlapWith::pass;
  op.message = bytes;
}

/// The host computes: reads and writes `bytes` of its memory.
template <class T>
void host_compute(OpList<T>& ops, std::string_view name, Pass pass, StageScope place, const Plan<T>& plan,
                  const Data<T>& bytes) {
  auto& op = emit(ops, OpKind::host_compute, OpGroup::communication, name, T{1.0});
  op.pass = pass;
  op.place = place;
  op.comm_group = CommGroup::host;
  op.message = bytes;
  op.host_bandwidth = plan.host_bandwidth;
}

/// Bytes of a gradient that an optimizer on the host keeps, which computes in fp32 (ren2021zerooffload).
inline constexpr double kHostGradient = 4;

/// Weights are updated where their states are: gradients go to the host as the backward pass makes them, the
/// host reads gradient and states and writes states and weight, and the weights come back.
/// @cite ren2021zerooffload, sections 4 and 5
template <class T>
void update_on_host(const Plan<T>& plan, OpList<T>& ops, Pass made, StageScope place,
                    const Params<T>& weights, const DataPerParam<T>& states, const DataPerParam<T>& stored) {
  ops.reserve(3);
  host_transfer(ops, "gradient_store", made, place, T{1.0}, plan.gradient_bytes * weights);
  host_compute(ops, "host_update", Pass::update, place, plan,
               (kHostGradient * (unit::B / unit::param) + 2.0 * states + stored) * weights);
  host_transfer(ops, "weight_return", Pass::update, place, T{1.0}, stored * weights);
}

/// The optimizer: reads gradients, reads and writes its states, writes the weights. States in host memory
/// stream through the device, unless the host updates their weights itself.
template <class T>
void optimizer(const Structure& structure, const Plan<T>& plan, OpList<T>& ops, StageScope place,
               const Params<T>& trained, const Holders<T>& h) {
  Op<T>& op = emit(ops, OpKind::elementwise, OpGroup::optimizer, "optimizer", T{1.0});
  op.pass = Pass::update;
  op.place = place;
  const Params<T> mine = structure.zero_stage >= 1 ? trained / h.shards : trained;
  const auto& states = structure.update == WeightUpdate::orthogonal && place == StageScope::every_block
                           ? plan.matrix_state_bytes
                           : plan.state_bytes;
  const auto& stored = structure.adapts() ? plan.adapter_bytes : plan.weight_bytes;
  const Params<T> here = structure.host_computes ? Params<T>(mine * (1.0 - plan.offload_states)) : mine;
  op.work = Work<T>::from_base(12.0 * here.base());
  op.memory_bytes = (plan.gradient_bytes + 2.0 * states + stored) * here;
  if (structure.host_computes)
    update_on_host(plan, ops, structure.zero_stage >= 2 ? Pass::backward : Pass::update, place,
                   Params<T>(mine * plan.offload_states), states, stored);
  else if (structure.offloads)
    host_transfer(ops, "state_transfer", Pass::update, place, T{1.0}, states * mine * plan.offload_states);
}

/// 1 where the host multiplies the weights that it holds: in passes of few rows. Of larger ones the weights
/// cross the link.
template <class T> [[nodiscard]] T host_works(const Plan<T>& plan) {
  return select(sequences_of(plan) * plan.new_tokens <= plan.host_rows, T{1.0}, T{0.0});
}

/// Moves operators of the forward pass to the host: those of the layers and of the routed experts that lie in
/// its memory. The host streams what they read.
/// @param end of the forward operators
template <class T> void compute_layers_on_host(const Plan<T>& plan, OpList<T>& ops, std::size_t end) {
  const T works = host_works(plan), w = plan.offload_weights;
  const T of_experts = 1.0 - (1.0 - w) * (1.0 - plan.offload_experts);
  Data<T> read;
  for (std::size_t i = 0; i < end; ++i) {
    Op<T>& op = ops[i];
    if (op.place != StageScope::every_block || !op.on_device()) continue;
    const T moved = works * (op.parts & part::routed ? of_experts : w);
    read += op.memory_bytes * (op.count * moved);
    op.count = op.count * (1.0 - moved);
  }
  ops.reserve(1);
  host_compute(ops, "host_layers", Pass::forward, StageScope::every_block, plan, read);
}

/// Everything that happens to weights and activations of one place beside the passes themselves.
template <class T>
void shard(const Structure& structure, const Plan<T>& plan, OpList<T>& ops, StageScope place, const T& layers,
           const ListTotals<T>& totals) {
  ops.reserve(32);
  const bool training = structure.phase == Phase::training;
  const bool mixed = structure.mixed_storage;
  const auto of = [&](const Params<T>& weights, const DataPerParam<T>& bytes_each, bool learns,
                      const Holders<T>& holders) {
    const Params<T> trained = trained_of(structure, plan, weights, totals.adapter_params);
    if (learns) exchange_gradients(structure, plan, ops, place, layers, trained, holders);
    if (learns || structure.zero_stage >= 3)
      gather_weights(structure, plan, ops, place, layers, weights, bytes_each, trained, holders);
    if (learns) optimizer(structure, plan, ops, place, trained, holders);
  };
  if (training) {
    // Adapters stand beside the dense products of the blocks alone.
    of(totals.dense_params, mixed && place != StageScope::every_block ? plan.edge_bytes : plan.weight_bytes,
       !structure.adapts() || place == StageScope::every_block, Holders<T>(plan, false));
    if (structure.moe && place == StageScope::every_block)
      of(totals.expert_params, mixed ? plan.expert_bytes : plan.weight_bytes, !structure.adapts(),
         Holders<T>(plan, true));
  }
  if (!structure.offloads) return;
  const Params<T> edge = place == StageScope::every_block ? Params<T>() : totals.dense_params;
  const T& w = plan.offload_weights;
  const bool by_layer = structure.host_computes && !training;
  const Data<T> weights = stored_weights<T>(
      structure, plan, totals.dense_params * (by_layer && place != StageScope::every_block ? T{0.0} : w),
      totals.expert_params * (1.0 - (1.0 - w) * (1.0 - plan.offload_experts)),
      edge * (by_layer ? T{0.0} : w));
  host_transfer(ops, "weight_fetch", Pass::forward, place, by_layer ? T(1.0 - host_works(plan)) : T{1.0},
                weights);
  if (!training) return;
  host_transfer(ops, "weight_fetch", Pass::backward, place, T{1.0}, weights);
  const Data<T> kept = totals.saved_bytes * plan.offload_activations;
  host_transfer(ops, "activation_store", Pass::forward, place, T{1.0}, kept);
  host_transfer(ops, "activation_fetch", Pass::backward, place, T{1.0}, kept);
}

}  // namespace mlsysim::detail
