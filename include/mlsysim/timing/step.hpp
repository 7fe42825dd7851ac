#pragma once
/// Time and memory of a pass (serving, inference) or an optimizer step (training), from estimated operators.
///
///     step   = slots + bubble + update          slots = m slot + dispatch_overhead
///     bubble = wait_slot ramp                                    1F1B, GPipe and interleaved
///     bubble = max(wait_chain ramp - min(wait_forward, W) (q - 1) / v, wait_forward ramp)      ZB-H1
///     ramp   = max(p - m, 0) + (q - 1) / v      q = min(m, p)
///
/// m micro-batches, p stages, v model chunks per device. slot: one micro-batch on the slowest stage [s].
/// wait_slot: one micro-batch on a stage that waits [s]. wait_chain: without its weight gradients W [s].
/// update: exposed gradient exchange and optimizer [s]. Inner stages count as the faster end of the pipeline.
/// @cite narayanan2021megatron, section 2.2; qi2023zerobubble, section 2
/// Example: 4 stages, 8 micro-batches of 10 ms (W and forward 3 each): slots 80 ms, bubble 30 ms.
/// With v = 2 the bubble is 15 ms, with ZB-H1 7 x 3 - 3 x 3 = 12 ms.

#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/physics/pipeline_bubble.hpp>
#include <mlsysim/timing/pass.hpp>
#include <mlsysim/timing/pass_cost.hpp>

namespace mlsysim {

template <class T>
[[nodiscard]] StageDemands<T> pass_demands(const PlaceTotals<T>& totals, const ModelView<T>& model,
                                           const Plan<T>& plan) {
  const T one{1.0}, alone = select(plan.pp > one, T{0.0}, one);
  const T full = model.blocks(plan), layers = layers_of(model.structure, model.shape(), model.layers);
  const T share = select(plan.pp > one, max(floor(layers / plan.pp), one) / full, one);
  StageDemands<T> out{demand_of(model.structure, plan, totals.stage(one, alone, one), full),
                      demand_of(model.structure, plan, totals.stage(alone, one, share), full)};
  out.first.tower = plan.tower_bytes / plan.tp;
  return out;
}

namespace detail {

/// Parts of a pass that take turns, each with whole sequences: two, or one where a rank has a single
/// sequence or nothing is exchanged.
template <class T> [[nodiscard]] T two_batch_overlap(const Plan<T>& plan) {
  const T parts = clamp(T(floor(plan.batch / plan.sequence_ranks())), T{1.0}, T{2.0});
  return select(plan.ep > T{1.0}, parts, T{1.0});
}

/// Times of a pass whose communication overlaps with its kernels. The model's dispatch is paid once.
///
/// All stages together hold every block once; the first stage holds as many as the fullest, the last one less
/// where they do not divide evenly, and the output head.
/// @param takes parts that take turns, where the structure has any
/// @param layer_overhead host time of a layer, before which a pass does not end
template <class T>
void set_times(PassEstimate<T>& pass, const ListCost<T>& costs, const ModelView<T>& model,
               const Plan<T>& plan, const Device<T>& device, const T& takes, const Time<T>& layer_overhead) {
  const T one{1.0};
  const T layers = layers_of(model.structure, model.shape(), model.layers);
  const T full = model.blocks(plan), least = max(floor(layers / plan.pp), one);
  const T last_blocks = select(plan.pp > one, least, full);
  const auto stage = [&](const T& first, const T& last, const T& blocks, const T& stages) {
    PassBreakdown<T> cost = costs.stage(Pass::forward, first, last, blocks);
    cost.add(costs.of(Pass::forward, StageScope::every_stage), stages);
    cost.host_launch_time = max(cost.host_launch_time, layer_overhead * (full * blocks));
    if (model.structure.expert_overlap != ExpertOverlap::micro_batch) return cost;
    cost = cost * takes;
    // Nothing runs beside the first exchange of the first part and the last one of the last; of one part
    // beside none.
    cost.ep_comm = cost.ep_comm * ((takes - 1.0) * (1.0 - 1.0 / (2.0 * layers)));
    return cost;
  };
  pass.cost = stage(one, one, layers / full, plan.pp);
  pass.total = pass.cost.exposed(plan, layers) + device.dispatch_overhead;
  const Time<T> slowest = max(stage(one, T{0.0}, one, one).exposed(plan, full),
                              stage(T{0.0}, one, last_blocks / full, one).exposed(plan, last_blocks));
  pass.slot = select(plan.pp > one, slowest + device.dispatch_overhead, pass.total);
  pass.cost.overhead += pass.cost.launch_wait(plan, layers) + device.dispatch_overhead;
}

}  // namespace detail

/// Lowers and prices a pass: its times, and what the devices hold. `ops` is the caller's workspace and
/// afterwards holds the list.
template <class T>
[[nodiscard]] PassEstimate<T> pass_estimate(const PassRequest<T>& request, const Device<T>& device,
                                            const Links<T>& links, OpList<T>& ops) {
  const ModelView<T>& model = request.model;
  const Plan<T>& plan = request.plan;
  const bool turns = model.structure.expert_overlap == ExpertOverlap::micro_batch;
  PassEstimate<T> pass;
  PlaceTotals<T> totals;  // of the fullest stage, by place
  if (turns) totals = forward_totals(model.structure, model.shape(), model.layers, plan, ops);
  Plan<T> part = plan;
  const T takes = turns ? detail::two_batch_overlap(plan) : T{1.0};
  part.batch = plan.batch / takes;
  const auto lowered = lower(model.structure, model.shape(), model.layers, part, ops);
  if (!turns) totals = lowered.totals;
  std::optional<LaunchFrame<T>> frame;
  if (device.software != nullptr)
    frame.emplace(*device.software, model.structure, model.shape().hidden, part, device, ops.span());
  detail::set_times(
      pass, price_list<T>(ops.span(), device, links, request.launch_overhead, frame ? &*frame : nullptr),
      model, plan, device, takes, request.layer_overhead);
  if (device.software != nullptr) {
    const Time<T> wait =
        select(request.launch_overhead > Time<T>(), Time<T>(device.software->step), Time<T>());
    pass.total += wait;
    pass.slot += wait;
    pass.cost.overhead += wait;
  }
  pass.demands = pass_demands(totals, model, plan);
  return pass;
}

/// One pipeline stage of a training step, one micro-batch.
template <class T = double> struct StageCost {
  PassBreakdown<T> forward, recompute, backward, weight_gradient, update;
  T blocks{1.0};     ///< blocks that it holds
  T exchanges{1.0};  ///< collectives in which their gradients travel

  /// All passes of one micro-batch, collectives included, nothing overlapped.
  [[nodiscard]] PassBreakdown<T> passes() const { return forward + recompute + backward + weight_gradient; }
  /// Time of one micro-batch. Recomputation and both parts of the backward pass run under one roof of
  /// overlap.
  [[nodiscard]] Time<T> slot(const Plan<T>& plan) const {
    return forward_time(plan) + (recompute + backward + weight_gradient).exposed(plan, blocks);
  }
  [[nodiscard]] Time<T> forward_time(const Plan<T>& plan) const { return forward.exposed(plan, blocks); }
  /// Time of one micro-batch without weight gradients, for which no other stage waits.
  [[nodiscard]] Time<T> chain(const Plan<T>& plan) const {
    return forward_time(plan) + (recompute + backward).exposed(plan, blocks);
  }
  /// Kernels under which more communication can hide than what the passes prefetch.
  [[nodiscard]] Time<T> room(const Plan<T>& plan) const {
    const PassBreakdown<T> back = recompute + backward + weight_gradient;
    return (forward.kernels() + back.kernels()) * plan.overlap - forward.hidden_ahead(plan, blocks) -
           back.hidden_ahead(plan, blocks);
  }
  /// Part of it in which the device waits for the host.
  [[nodiscard]] Time<T> launch_wait(const Plan<T>& plan) const {
    return forward.launch_wait(plan, blocks) +
           (recompute + backward + weight_gradient).launch_wait(plan, blocks);
  }
};

/// One optimizer step of all replicas.
template <class T = double> struct StepTime {
  Time<T> total;
  Time<T> slots;             ///< micro-batches, one after the other on the slowest stage
  Time<T> bubble;            ///< idle time at the start and end of the pipeline
  Time<T> update;            ///< exposed gradient exchange and optimizer
  Time<T> exchange;          ///< exchange of gradients and weights over the replicas before overlap, one step
  Time<T> host_transfer;     ///< transfers over the host link before overlap, one step
  Time<T> tensor_parallel;   ///< collectives inside the blocks before overlap, one step
  Time<T> expert_parallel;   ///< all-to-all of the experts before overlap, one step
  Time<T> context_parallel;  ///< exchange of keys and values before overlap, one step
  Time<T> pipeline_parallel;  ///< transfers between stages before overlap, one step
  StageCost<T> stage;         ///< the slowest stage
  Time<T> launch_wait;  ///< time in which the slowest stage waits for the host to issue kernels, one step
};

/// Micro-batches whose activations the first pipeline stage holds.
///
/// 1F1B: as many as there are stages; with v model chunks a device (pp - 1) chunks more (Korthikanti et al.
/// 2022, section 4.2.3: 1 + (pp - 1) / (pp v) for one). The zero-bubble schedule without extra memory (ZB-H1)
/// holds as many. GPipe holds all of them.
template <class T> [[nodiscard]] T micro_batches_in_flight(const Structure& structure, const Plan<T>& plan) {
  if (structure.schedule == Schedule::gpipe) return plan.microbatches;
  const T more = select(plan.virtual_stages > T{1.0}, (plan.pp - 1.0) / plan.virtual_stages, T{0.0});
  return min(plan.microbatches, plan.pp + more);
}

namespace detail {

/// Times of one micro-batch on the stages that wait for the slowest one.
template <class T> struct WaitingStage {
  Time<T> forward, chain, slot;  ///< the chain is all but the weight gradients
  Time<T> weight_gradient;       ///< of the slowest stage
};

/// Idle time of a pipeline [s].
///
/// The first micro-batch passes all p stages forward and backward, which adds p - 1 slots to those of the
/// slowest stage. With v model chunks a device, each of the first min(m, p) of m micro-batches but one enters
/// a chunk after the one before, not a whole stage: (p - q) + (q - 1) / v slots for q = min(m, p), which is
/// (p - 1) / v for m >= p (Narayanan et al. 2021, section 2.2).
/// The zero-bubble schedule ZB-H1 moves weight gradients W out of the chain of forward passes F and input
/// gradients B, and puts one W into each of the q - 1 waits of length F between the first q input gradients:
/// (p - 1) (F + B) - (q - 1) min(F, W), at least the (p - 1) F before the last stage starts. For m >= p and
/// W <= F, B this is (p - 1) (F + B - W) (Qi et al. 2024, section 2).
template <class T>
[[nodiscard]] Time<T> pipeline_bubble(Schedule schedule, const WaitingStage<T>& stage, const Plan<T>& plan) {
  const T entering = (min(plan.microbatches, plan.pp) - 1.0) / plan.virtual_stages;
  const T ramp = max(T(plan.pp - plan.microbatches), T{0.0}) + entering;
  if (schedule != Schedule::zero_bubble) return stage.slot * ramp;
  const Time<T> filled = min(stage.forward, stage.weight_gradient) * entering;
  return max(stage.chain * ramp - filled, stage.forward * ramp);
}

}  // namespace detail

/// Sums of a step's operators on the two ends of the pipeline, before overlap. They do not depend on the
/// number of micro-batches, the shares of overlap, the schedule or the model chunks of a stage, so plans that
/// differ only in those can share them.
template <class T = double> struct StepParts {
  StageCost<T> first, last;                    ///< without the transfers between stages
  PassBreakdown<T> sent, sent_back;            ///< transfers of one model chunk, forward and backward
  std::array<Time<T>, kCommGroups> network{};  ///< of one micro-batch, by whom it joins
  PlaceTotals<T> totals;                       ///< of the forward operators, recomputation regarded

  [[nodiscard]] const Time<T>& between(CommGroup t) const { return network[static_cast<std::size_t>(t)]; }
};

/// Lowers and prices one micro-batch and its update. Layers that do not divide evenly leave one less for the
/// last stage, which holds the output head. `ops` is the caller's workspace and afterwards holds the list,
/// with the transfers of one model chunk.
template <class T>
[[nodiscard]] StepParts<T> step_parts(const PassRequest<T>& request, const Device<T>& device,
                                      const Links<T>& links, OpList<T>& ops) {
  const ModelView<T>& model = request.model;
  const Plan<T>& plan = request.plan;
  const T one{1.0}, none{0.0};
  const auto lowered = detail::lower_chunks(model.structure, model.shape(), model.layers, plan, one, ops);
  std::optional<LaunchFrame<T>> frame;
  if (device.software != nullptr)
    frame.emplace(*device.software, model.structure, model.shape().hidden, plan, device, ops.span());
  const auto costs =
      price_list<T>(ops.span(), device, links, request.launch_overhead, frame ? &*frame : nullptr);
  const T full = model.blocks(plan);
  const T least = max(floor(layers_of(model.structure, model.shape(), model.layers) / plan.pp), one);
  const auto piped = plan.pp > one;
  const T alone = select(piped, none, one), last_share = select(piped, least / full, one);
  const auto stage_at = [&](const T& first, const T& last, const T& share) {
    return StageCost<T>{costs.stage(Pass::forward, first, last, share),
                        costs.stage(Pass::recompute, first, last, share),
                        costs.stage(Pass::backward, first, last, share),
                        costs.stage(Pass::weight_gradient, first, last, share),
                        costs.stage(Pass::update, first, last, share),
                        full * share,
                        lowered.exchanges};
  };
  return {stage_at(one, alone, one),
          stage_at(alone, one, last_share),
          costs.of(Pass::forward, StageScope::every_stage),
          costs.of(Pass::backward, StageScope::every_stage),
          costs.network,
          lowered.totals};
}

/// Memory demand of a step on the two ends of a pipeline. `totals` are those of the forward operators,
/// recomputation regarded.
template <class T>
[[nodiscard]] StageDemands<T> step_demands(const PlaceTotals<T>& totals, const ModelView<T>& model,
                                           const Plan<T>& plan) {
  const T one{1.0}, alone = select(plan.pp > one, T{0.0}, one);
  const T full = model.blocks(plan), layers = layers_of(model.structure, model.shape(), model.layers);
  const T share = select(plan.pp > one, max(floor(layers / plan.pp), one) / full, one);
  const T in_flight = micro_batches_in_flight(model.structure, plan);
  StageDemands<T> out{demand_of(model.structure, plan, totals.stage(one, alone, one), full, in_flight),
                      demand_of(model.structure, plan, totals.stage(alone, one, share), full,
                                model.structure.schedule == Schedule::gpipe ? in_flight : one)};
  out.first.tower = plan.tower_bytes / plan.tp;
  return out;
}

/// One optimizer step of parts that are known.
///
/// The slowest stage runs its micro-batches one after the other, and `detail::pipeline_bubble` adds the wait.
template <class T>
[[nodiscard]] StepTime<T> step_of(const StepParts<T>& parts, const ModelView<T>& model, const Plan<T>& plan,
                                  const Device<T>& device) {
  const T& chunks = plan.virtual_stages;
  const auto with_transfers = [&](StageCost<T> stage) {
    stage.forward.add(parts.sent, chunks);
    stage.backward.add(parts.sent_back, chunks);
    return stage;
  };
  const StageCost<T> first = with_transfers(parts.first), last = with_transfers(parts.last);
  const Time<T> slot_first = first.slot(plan), slot_last = last.slot(plan);
  const auto first_slower = slot_first > slot_last;

  StepTime<T> step;
  const Time<T> slowest = max(slot_first, slot_last);
  step.slots = slowest * plan.microbatches + device.dispatch_overhead;
  // Every stage but the slowest waits. The inner ones have blocks alone, so they are taken like the faster
  // end.
  const Time<T> chain_first = first.chain(plan), chain_last = last.chain(plan);
  step.bubble =
      detail::pipeline_bubble(model.structure.schedule,
                              {select(first_slower, last.forward_time(plan), first.forward_time(plan)),
                               select(first_slower, chain_last, chain_first), min(slot_first, slot_last),
                               select(first_slower, slot_first - chain_first, slot_last - chain_last)},
                              plan);
  // The exchange of a step hides under the backward pass of its last micro-batch and the forward pass of the
  // next step, except its last piece, which is not ready before the backward pass is over. Kernels hide what
  // the passes themselves prefetch first. The exchange slows kernels beside it, but not a device that waits
  // for the host, or for the slowest stage. The next step waits for both ends, of which the faster one may
  // hold more weights.
  const auto exposed = [&](const StageCost<T>& end, const Time<T>& slot) -> Time<T> {
    const Time<T> ahead = end.update.prefetch_comm * (1.0 - 1.0 / end.exchanges);
    const Time<T> beside_kernels = min(ahead, end.room(plan)) * (1.0 - plan.overlap_slowdown);
    return end.update.total - min(ahead, beside_kernels + end.launch_wait(plan) + (slowest - slot));
  };
  const Time<T> update_first = exposed(first, slot_first), update_last = exposed(last, slot_last);
  const auto first_later = update_first > update_last;
  step.update = max(update_first, update_last);
  step.stage = {select_members(first_slower, first.forward, last.forward),
                select_members(first_slower, first.recompute, last.recompute),
                select_members(first_slower, first.backward, last.backward),
                select_members(first_slower, first.weight_gradient, last.weight_gradient),
                select_members(first_later, first.update, last.update),
                select(first_slower, first.blocks, last.blocks),
                first.exchanges};
  const StageCost<T>& s = step.stage;
  step.total = step.slots + step.bubble + step.update;

  step.launch_wait = s.launch_wait(plan) * plan.microbatches;
  step.exchange =
      max(first.update.network, last.update.network) + parts.between(CommGroup::dp) * plan.microbatches;
  step.host_transfer = (s.forward.host + s.backward.host) * plan.microbatches + s.update.host;
  step.tensor_parallel = parts.between(CommGroup::tp) * plan.microbatches;
  step.expert_parallel = parts.between(CommGroup::ep) * plan.microbatches;
  step.context_parallel = parts.between(CommGroup::cp) * plan.microbatches;
  step.pipeline_parallel = parts.between(CommGroup::pp) * (chunks * plan.microbatches);
  return step;
}

/// Keys, values and states of a pass over the whole model, from the operator list; none where the shape is
/// not known.
template <class T> [[nodiscard]] Data<T> whole_cache(const ModelView<T>& model, const Plan<T>& plan) {
  if (!model.structure.known) return {};
  Plan<T> whole = plan;
  whole.tp = whole.pp = whole.ep = whole.dp = whole.cp = whole.virtual_stages = T{1.0};
  whole.folded = false;
  OpList<T> ops;
  return forward_totals(model.structure, model.shape(), model.layers, whole, ops).stage(T{1.0}, T{1.0}).state;
}

// Overloads for plain numbers, which calls prefer: each has one compiled copy per instruction set.
[[nodiscard]] PlaceTotals<> forward_totals(const Structure& structure, const StackView<>& stack,
                                           const Listed& layers, const Plan<>& plan, OpList<>& ops);
[[nodiscard]] PlaceTotals<> training_totals(const Structure& structure, const StackView<>& stack,
                                            const Listed& layers, const Plan<>& plan, OpList<>& ops);
[[nodiscard]] PassEstimate<> pass_estimate(const PassRequest<>& request, const Device<>& device,
                                           const Links<>& links, OpList<>& ops);
[[nodiscard]] StepParts<> step_parts(const PassRequest<>& request, const Device<>& device,
                                     const Links<>& links, OpList<>& ops);
[[nodiscard]] StepTime<> step_of(const StepParts<>& parts, const ModelView<>& model, const Plan<>& plan,
                                 const Device<>& device);

}  // namespace mlsysim
