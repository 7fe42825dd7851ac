#pragma once
/// Lowers a model to the list of operators of one device: forward pass, recomputation, backward pass, update.
///
/// Both fidelities, the memory model, the parameter count, reports and exporters read this list.
/// Numbers are those of the fullest pipeline stage. An operator runs `count` times per micro-batch.
/// The update runs once per step. First and last stage have operators that the others do not have.
///
/// Example: Llama-3.1-8B, decode of one sequence at 2,048 tokens, bf16: 17 records.
/// Together 16.1 GFLOP, 15.3 GB of memory traffic, 0.27 GB of KV cache.

#include <mlsysim/lowering/adapters.hpp>
#include <mlsysim/lowering/backward.hpp>
#include <mlsysim/lowering/blocks.hpp>
#include <mlsysim/lowering/convolution.hpp>
#include <mlsysim/lowering/listed.hpp>
#include <mlsysim/lowering/orthogonal.hpp>
#include <mlsysim/lowering/sharding.hpp>
#include <mlsysim/lowering/transformer.hpp>

namespace mlsysim {

/// The extent of the passes that `lower` appended, and the sums over the forward pass.
template <class T = double> struct Lowered {
  std::size_t forward_end = 0;  ///< operators [0, forward_end) are one forward pass
  std::size_t end = 0;
  PlaceTotals<T> totals{};  ///< of the forward operators
  T exchanges{1.0};         ///< collectives in which the gradients of the fullest stage's blocks travel
};

namespace detail {

/// Appends the forward pass. Returns the end of the operators that have weights; transfers between stages
/// follow.
template <class T>
std::size_t forward_pass(const Structure& structure, const StackView<T>& stack, const Listed& layers,
                         const Plan<T>& plan, const T& chunks, OpList<T>& ops) {
  ops.clear();
  const bool listed = is_listed(structure.architecture);
  if (listed)
    forward_listed(structure, layers, plan, ops);
  else
    forward_transformer(structure, stack, plan, ops);
  if (structure.adapts() && !listed) adapt(structure, plan, ops);
  if (structure.unpacks && !listed) unpack(structure, plan, ops);
  if (structure.expert_overlap == ExpertOverlap::micro_batch)  // beside the exchange of another micro-batch
    for (std::size_t i = 0; i < ops.size(); ++i)
      if (ops[i].kind != OpKind::collective) ops[i].parts = ops[i].parts | part::overlap_compute;
  const std::size_t weights_end = ops.size();
  if (!listed) pipeline_transfer(structure, stack, plan, chunks, ops);
  return weights_end;
}

}  // namespace detail

/// Totals of the forward pass alone, nothing recomputed, by the place where they run. Parameters as of
/// `lower`; `ops` afterwards holds the forward operators.
template <class T>
[[nodiscard]] PlaceTotals<T> forward_totals(const Structure& structure, const StackView<T>& stack,
                                            const Listed& layers, const Plan<T>& plan, OpList<T>& ops) {
  detail::forward_pass(structure, stack, layers, plan, plan.virtual_stages, ops);
  return place_totals_of(ops, ops.size());
}

/// Totals of the forward pass of a training step, without the activations that recomputation drops.
template <class T>
[[nodiscard]] PlaceTotals<T> training_totals(const Structure& structure, const StackView<T>& stack,
                                             const Listed& layers, const Plan<T>& plan, OpList<T>& ops) {
  const std::size_t weights_end =
      detail::forward_pass(structure, stack, layers, plan, plan.virtual_stages, ops);
  const std::size_t forward_end = ops.size();
  detail::recompute(structure, plan, ops, weights_end);
  return place_totals_of(ops, forward_end);
}

namespace detail {

/// As `lower`, with the transfers of `chunks` model chunks of a pipeline stage.
template <class T>
Lowered<T> lower_chunks(const Structure& structure, const StackView<T>& stack, const Listed& layers,
                        const Plan<T>& plan, const T& chunks, OpList<T>& ops) {
  const std::size_t weights_end = forward_pass(structure, stack, layers, plan, chunks, ops);
  Lowered<T> made;
  made.forward_end = ops.size();
  const bool training = structure.phase == Phase::training;
  if (training) {
    recompute(structure, plan, ops, weights_end);
    backward(structure, plan, ops, made.forward_end);
  }
  made.totals = place_totals_of(ops, made.forward_end);
  if (training || structure.offloads) {
    const bool listed = is_listed(structure.architecture);
    const T blocks = blocks_of(structure, stack, layers, plan);
    const auto& held = made.totals[StageScope::every_block];
    made.exchanges = exchanges_of(
        structure, plan, blocks,
        Data<T>(plan.gradient_bytes * trained_of(structure, plan, held.params(), held.adapter_params)));
    if (!training && structure.host_computes) compute_layers_on_host(plan, ops, made.forward_end);
    shard(structure, plan, ops, StageScope::every_block, blocks, made.totals[StageScope::every_block]);
    if (!listed) {
      shard(structure, plan, ops, StageScope::first, T{1.0}, made.totals[StageScope::first]);
      shard(structure, plan, ops, StageScope::last, T{1.0}, made.totals[StageScope::last]);
    }
    if (training && structure.update == WeightUpdate::orthogonal)
      orthogonalize(structure, plan, ops, made.forward_end);
  }
  made.end = ops.size();
  return made;
}

}  // namespace detail

/// Appends the operators of one pass (serving) or of one micro-batch and its update (training) on one device.
///
/// Numbers are those of a device of the fullest pipeline stage; `count` gives executions per micro-batch, and
/// operators of Pass::update happen once a step. Operators of StageScope::first and StageScope::last exist on
/// those stages only: whoever sums the list chooses the stage. No allocation but for a list beyond the
/// capacity of `ops`.
/// @param structure which operators exist
/// @param stack     layers of a transformer (ignored for a convolutional network)
/// @param layers    records of a convolutional network or of a program (empty otherwise)
/// @param plan      division of the work and sizes of the pass
/// @param ops       list to fill; cleared first
template <class T>
Lowered<T> lower(const Structure& structure, const StackView<T>& stack, const Listed& layers,
                 const Plan<T>& plan, OpList<T>& ops) {
  return detail::lower_chunks(structure, stack, layers, plan, plan.virtual_stages, ops);
}

}  // namespace mlsysim
