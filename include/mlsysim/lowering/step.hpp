#pragma once
/// From priced operators to the time and memory of a pass (serving, inference) or of an optimizer step (training).

#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/lowering/memory_model.hpp>
#include <mlsysim/lowering/price.hpp>
#include <mlsysim/physics/pipeline_bubble.hpp>

namespace mlsysim {

/// What a lowering starts from: categories, sizes and layer records of one model.
template <class T = double>
struct ModelView {
  Structure structure;
  Shape<T> shape;
  std::span<const ConvLayer> layers;  ///< of a convolutional network; lives in the workload
};

/// One pipeline stage, one micro-batch.
template <class T = double>
struct StageCost {
  PassCost<T> forward, recompute, backward, update;
  MemoryBreakdown<T> memory;
  ListTotals<T> totals;
};

/// Lowers, prices and sizes one pipeline stage. `ops` is the caller's workspace and afterwards holds the list.
template <class T>
[[nodiscard]] StageCost<T> stage_cost(const ModelView<T>& model, const Plan<T>& plan, const Device<T>& device,
                                      const Links<T>& links, OpList<T>& ops) {
  const auto range = lower(model.structure, model.shape, model.layers, plan, ops);
  StageCost<T> cost;
  cost.totals = totals_of(ops, range.forward_end);
  cost.memory = memory_of(model.structure, plan, device, demand_of(model.structure, model.shape, plan, cost.totals));
  cost.forward = price_pass<T>(ops.span(), Pass::forward, device, links);
  if (model.structure.phase == Phase::training) {
    cost.recompute = price_pass<T>(ops.span(), Pass::recompute, device, links);
    cost.backward = price_pass<T>(ops.span(), Pass::backward, device, links);
    cost.update = price_pass<T>(ops.span(), Pass::update, device, links);
  }
  return cost;
}

/// Time of one pass over the whole model, all pipeline stages one after the other.
template <class T = double>
struct PassTime {
  Time<T> total;
  PassCost<T> cost;           ///< of the fullest stage
  MemoryBreakdown<T> memory;  ///< of the fullest stage
};

/// One serving or inference pass.
///
/// A token crosses all pipeline stages in turn, so a pass takes `pp` times the fullest stage; the stage's rate is
/// 1/stage. The model's dispatch is paid once a pass.
template <class T>
[[nodiscard]] PassTime<T> pass_time(const ModelView<T>& model, const Plan<T>& plan, const Device<T>& device,
                                    const Links<T>& links, OpList<T>& ops) {
  const auto stage = stage_cost(model, plan, device, links, ops);
  return {stage.forward.total * plan.pp + device.dispatch, stage.forward, stage.memory};
}

/// One optimizer step of all replicas.
template <class T = double>
struct StepTime {
  Time<T> total;
  Time<T> slots;       ///< micro-batches, one after the other on the slowest stage
  Time<T> bubble;      ///< idle time at the start and end of the pipeline
  Time<T> update;      ///< exposed gradient exchange and optimizer
  Time<T> exchange;    ///< gradient exchange before overlap
  Time<T> tensor_parallel;  ///< collectives inside the passes, all micro-batches
  StageCost<T> stage;  ///< the slowest stage
  MemoryBreakdown<T> memory;  ///< the fullest stage
  Work<T> hardware_work;  ///< arithmetic of all passes on the slowest stage's device, one step
};

namespace detail {
/// Member-wise choice between two memory breakdowns.
template <class C, class T>
[[nodiscard]] MemoryBreakdown<T> select_memory(const C& condition, const MemoryBreakdown<T>& a,
                                               const MemoryBreakdown<T>& b) {
  MemoryBreakdown<T> out;
  for_each_field<MemoryBreakdown<T>>([&](const auto& row) {
    out.*(row.member) = select(condition, a.*(row.member), b.*(row.member));
  });
  return out;
}
}  // namespace detail

/// One optimizer step.
///
/// Every stage runs its micro-batches one after the other; the slowest stage sets the pace, and a pipeline of `pp`
/// stages with `v` chunks per device idles for (pp - 1)/(v M) of that time (Narayanan et al. 2021, section 2.2).
/// The gradient exchange hides under `plan.overlap` of one backward pass. First and last stage are both priced: the
/// first holds the embedding and most activations, the last the output head.
template <class T>
[[nodiscard]] StepTime<T> step_time(const ModelView<T>& model, const Plan<T>& plan, const Device<T>& device,
                                    const Links<T>& links, OpList<T>& ops) {
  const auto stage_at = [&](const T& first, const T& last, const T& in_flight) {
    Plan<T> p = plan;
    p.first_stage = first;
    p.last_stage = last;
    p.in_flight = in_flight;
    return stage_cost(model, p, device, links, ops);
  };
  const T alone = select(plan.pp > T{1.0}, T{0.0}, T{1.0});
  // 1F1B: the first stage has as many micro-batches in flight as there are stages, interleaving adds a part of a
  // model chunk each (Narayanan et al. 2021, section 2.2); GPipe holds all of them.
  const T deep = model.structure.schedule == Schedule::gpipe
                     ? plan.microbatches
                     : min(plan.microbatches, plan.pp * (1.0 + (1.0 - 1.0 / plan.pp) * (1.0 - 1.0 / plan.virtual_stages)));
  const StageCost<T> first = stage_at(T{1.0}, alone, deep);
  const StageCost<T> last = model.structure.schedule == Schedule::gpipe ? stage_at(alone, T{1.0}, plan.microbatches)
                                                                        : stage_at(alone, T{1.0}, T{1.0});
  const auto slot = [&](const StageCost<T>& s) {
    return s.forward.exposed(plan.overlap) + s.recompute.total + s.backward.exposed(plan.overlap);
  };
  const Time<T> slot_first = slot(first), slot_last = slot(last);

  StepTime<T> step;
  step.slots = max(slot_first, slot_last) * plan.microbatches + device.dispatch;
  step.bubble = step.slots * apply<BubbleOverhead, T>({.pp_size = plan.pp, .microbatch_count = plan.microbatches,
                                                       .v_stages = plan.virtual_stages}).bubble_overhead;
  step.stage = last;
  const PassCost<T>& update = last.update;
  step.exchange = update.network;
  const Time<T> exposed = max(update.network - last.backward.total * plan.overlap, Time<T>());
  step.update = update.total - update.network + exposed;
  step.total = step.slots + step.bubble + step.update;
  const PassCost<T> passes = last.forward + last.recompute + last.backward;
  step.tensor_parallel = (passes.network - passes.hidable) * plan.microbatches;
  step.hardware_work = passes.work * plan.microbatches;
  step.memory = detail::select_memory(first.memory.total > last.memory.total, first.memory, last.memory);
  return step;
}

}  // namespace mlsysim
