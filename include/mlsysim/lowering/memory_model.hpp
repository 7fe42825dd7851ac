#pragma once
/// Memory of one device by use, and whether a model fits: the same model for every entry point and fidelity.
///
///     total = (weights + kv_cache + activations + gradients + states + buffers) (1 + lost) + reserve
///
/// Training divides states, gradients and weights by the ranks that hold them, from ZeRO stage 1, 2 and 3 on.
/// lost: share that fragmentation takes. activations: at inference twice the largest working set of an
/// operator, for a program once. In training the saved activations of every micro-batch in flight, and one
/// block's while it is recomputed. Bytes that are offloaded to the host are not counted, except pieces on
/// their way.
/// @cite rajbhandari2020zero, section 3; korthikanti2022recomputation, section 4.1
///
/// Example: 1e9 weights, bf16, Adam (2 + 2 + 12 B), 8 replicas, without activations, buffers and reserve.
/// ZeRO 0, 1, 2, 3: 16, 5.5, 3.75, 2 GB.

#include <mlsysim/lowering/holders.hpp>
#include <mlsysim/lowering/stored.hpp>
#include <mlsysim/lowering/totals.hpp>
#include <mlsysim/reflect/field.hpp>
#include <mlsysim/specs/views.hpp>

namespace mlsysim {

/// Bytes on one device, by use.
template <class T = double> struct MemoryBreakdown {
  Data<T> weights, kv_cache, activations, gradients, optimizer_states, communication_buffers, fragmentation,
      reserve;
  Data<T> total, capacity;

  static constexpr auto fields() {
    using M = MemoryBreakdown;
    return rows(field(&M::weights, "weights", "GB", "model weights"),
                field(&M::kv_cache, "kv_cache", "GB", "keys, values and recurrent states"),
                field(&M::activations, "activations", "GB",
                      "activations kept for the backward pass, or the working set"),
                field(&M::gradients, "gradients", "GB", "gradients"),
                field(&M::optimizer_states, "optimizer_states", "GB", "master weights and moments"),
                field(&M::communication_buffers, "communication_buffers", "GB", "buffers of collectives"),
                field(&M::fragmentation, "fragmentation", "GB", "allocated but not usable"),
                field(&M::reserve, "reserve", "GB", "framework and context"),
                field(&M::total, "total", "GB", "sum of the parts"),
                field(&M::capacity, "capacity", "GB", "device memory"));
  }
};

/// The larger of two by total.
template <class T>
[[nodiscard]] MemoryBreakdown<T> larger(const MemoryBreakdown<T>& a, const MemoryBreakdown<T>& b) {
  MemoryBreakdown<T> out;
  const auto condition = a.total > b.total;
  for_each_field<MemoryBreakdown<T>>(
      [&](const auto& row) { out.*(row.member) = select(condition, a.*(row.member), b.*(row.member)); });
  return out;
}

/// Inputs of the memory model for a pass on one device.
template <class T = double> struct MemoryDemand {
  Params<T> dense_params, expert_params;  ///< weights stored on the device before data-parallel sharding
  Params<T> adapter_params;               ///< weights of low-rank adapters, likewise
  Params<T> block_params;                 ///< of the dense ones, those inside blocks
  Data<T> kv_cache;                       ///< KV cache and recurrent states
  Data<T> activations;                    ///< all that is alive at the peak
  Data<T> buffers;                        ///< transfer buffers beside the gradient bucket
  Data<T> tower;                          ///< weights of towers, which do nothing but lie there
  T bucket{0.0};                          ///< gradient bucket of the collectives, as a share of the gradients
};

/// Optimizer states that weight matrices inside the blocks do not have, which embedding and head do: a second
/// moment, where their updates are made orthogonal.
/// @cite jordan2024muon; liu2025muon, section 2.2
template <class T>
[[nodiscard]] Data<T> saved_states(const Structure& structure, const Plan<T>& plan,
                                   const MemoryDemand<T>& demand) {
  const bool sharded = structure.zero_stage >= 1;
  const Params<T> dense =
      sharded ? demand.block_params / Holders<T>(plan, false).shards : demand.block_params;
  const Params<T> experts =
      sharded ? demand.expert_params / Holders<T>(plan, true).shards : demand.expert_params;
  return (plan.state_bytes - plan.matrix_state_bytes) * (dense + experts) * plan.trainable;
}

/// Adds what low-rank adapters hold: weights in the format of training, gradients and states of them alone
/// (hu2022lora, section 4.2). ZeRO divides them as it does other dense weights.
template <class T>
void add_adapters(const Structure& structure, const Plan<T>& plan, const Params<T>& whole,
                  MemoryBreakdown<T>& m) {
  const T shards = Holders<T>(plan, false).shards;
  const auto divided = [&](int from_stage, const Params<T>& of) {
    return structure.zero_stage >= from_stage ? of / shards : of;
  };
  m.weights += plan.adapter_bytes * divided(3, whole);
  m.gradients += plan.gradient_bytes * divided(2, whole);
  m.optimizer_states += plan.state_bytes * divided(1, whole);
}

/// Memory of one device [B].
///
/// Weights, gradients and optimizer states are divided by the ranks that hold the same ones (or by the group
/// that hybrid sharding names) from ZeRO stage 3, 2 and 1 on. What is offloaded is not counted, except two
/// blocks of weights and one of activations that are on their way. Fragmentation is a share of what is
/// allocated. Gradients that are freed before the next forward pass (PyTorch's `zero_grad`) are counted
/// instead of activations as far as both would be held; several micro-batches add theirs up, so that they are
/// there. Towers are frozen: weights alone. Of gradients in host memory the bucket that is on its way stays.
/// A served model whose host computes leaves whole layers there, with their cache; embedding and head stay on
/// the device.
/// @cite rajbhandari2020zero, section 3; ren2021zerooffload, section 4
template <class T>
[[nodiscard]] MemoryBreakdown<T> memory_of(const Structure& structure, const Plan<T>& plan,
                                           const Device<T>& device, const MemoryDemand<T>& demand) {
  MemoryBreakdown<T> m;
  const Params<T> whole = demand.dense_params + demand.expert_params;
  const T shards = Holders<T>(plan, false).shards, expert_shards = Holders<T>(plan, true).shards;
  const Params<T> shard = demand.dense_params / shards + demand.expert_params / expert_shards;
  const auto divided = [&](int from_stage) { return structure.zero_stage >= from_stage ? shard : whole; };
  const bool training = structure.phase == Phase::training;
  const bool scattered = training && structure.zero_stage >= 3;
  const auto held = [&](const Params<T>& weights, const T& ranks) {
    return scattered ? Params<T>(weights / ranks) : weights;
  };
  const bool layers = structure.host_computes && !training;
  const Params<T> edge = demand.dense_params - demand.block_params;
  const T here = 1.0 - plan.offload_weights;
  const T experts_here = structure.offloads ? T(1.0 - plan.offload_experts) : T{1.0};
  m.weights = layers ? stored_weights<T>(structure, plan, edge + demand.block_params * here,
                                         demand.expert_params * here * experts_here, edge)
                     : stored_weights<T>(structure, plan, held(demand.dense_params, shards),
                                         held(demand.expert_params, expert_shards) * experts_here,
                                         held(edge, shards)) *
                           here;
  m.weights += scattered ? Data<T>(demand.tower / shards) : demand.tower;
  m.kv_cache = layers ? Data<T>(demand.kv_cache * here) : demand.kv_cache;
  m.activations = demand.activations;
  if (training) {
    if (!structure.drops_gradients) m.gradients = plan.gradient_bytes * divided(2) * plan.trainable;
    m.optimizer_states = plan.state_bytes * divided(1) * plan.trainable;
    if (structure.update == WeightUpdate::orthogonal)
      m.optimizer_states -= saved_states(structure, plan, demand);
    if (structure.adapts()) add_adapters(structure, plan, demand.adapter_params, m);
    m.optimizer_states = m.optimizer_states * (1.0 - plan.offload_states);
    m.communication_buffers = m.gradients * demand.bucket;
    if (structure.host_computes) m.gradients = m.gradients * (1.0 - plan.offload_gradients);
    // Gradients that are freed before the forward pass come into being as activations go.
    if (structure.frees_gradients)
      m.activations =
          select(plan.microbatches > T{1.0}, m.activations, max(m.activations - m.gradients, Data<T>()));
  }
  m.communication_buffers += demand.buffers;
  const Data<T> allocated =
      m.weights + m.kv_cache + m.activations + m.gradients + m.optimizer_states + m.communication_buffers;
  m.fragmentation = allocated * device.conventions.memory_fragmentation;
  m.reserve = device.conventions.memory_reserve;
  m.total = allocated + m.fragmentation + m.reserve;
  m.capacity = device.memory.capacity;
  return m;
}

/// The demand of a pipeline stage.
///
/// Inference holds the largest working set of one operator (in and out, twice for the buffers that
/// alternate). Training holds what the backward pass needs of every micro-batch in flight, and beside it one
/// block's activations while they are recomputed, or the largest working set of one operator (often the
/// loss).
/// @param totals    of the stage's forward operators
/// @param blocks    that the stage holds, see blocks_of
/// @param in_flight micro-batches whose activations the stage holds
/// @cite korthikanti2022recomputation, section 4.1
template <class T>
[[nodiscard]] MemoryDemand<T> demand_of(const Structure& structure, const Plan<T>& plan,
                                        const ListTotals<T>& totals, const T& blocks,
                                        const T& in_flight = T{1.0}) {
  const bool training = structure.phase == Phase::training;
  // A training pass starts from nothing and leaves nothing behind: it keeps no keys, values or states for
  // later tokens.
  MemoryDemand<T> d{totals.dense_params,
                    totals.expert_params,
                    totals.adapter_params,
                    totals.block_params,
                    training ? Data<T>() : totals.state,
                    {},
                    {},
                    {},
                    T{0.0}};
  // A program says what is alive while an operator runs; of other models only its own operands are known.
  const double buffers = structure.architecture == Architecture::program ? 1.0 : 2.0;
  d.activations = training ? max(totals.block_again, totals.working_set) +
                                 totals.saved_bytes * in_flight * (1.0 - plan.offload_activations)
                           : buffers * totals.working_set;
  // Gathered or fetched: the weights of the block at work and of the next one, where there is one.
  const T share = min(T(2.0 / blocks), T{1.0});
  if (training && structure.zero_stage >= 3) {
    // A rank that holds all of them gathers none.
    const T dense = select(Holders<T>(plan, false).shards > T{1.0}, share, T{0.0}),
            experts = select(Holders<T>(plan, true).shards > T{1.0}, share, T{0.0});
    d.buffers +=
        stored_weights<T>(structure, plan, totals.dense_params * dense, totals.expert_params * experts,
                          (totals.dense_params - totals.block_params) * dense);
  }
  if (structure.offloads && (training || !structure.host_computes))
    d.buffers += stored_weights<T>(structure, plan, totals.dense_params, totals.expert_params,
                                   totals.dense_params - totals.block_params) *
                     share * plan.offload_weights +
                 totals.saved_bytes * plan.offload_activations / blocks;
  return d;
}

}  // namespace mlsysim
