#pragma once
// The operator estimator over any scalar; instantiated once for each in a file of its own.

#include <mlsysim/physics/power_cap.hpp>
#include <mlsysim/timing/detail/loaded.hpp>
#include <mlsysim/timing/pass_estimator.hpp>
#include <mlsysim/timing/spill.hpp>
#include <mlsysim/timing/step.hpp>

namespace mlsysim::detail {

/// Stretches `time` under the power and clock limits; only `clocked`, a part of it, scales with the clock.
template <class T>
[[nodiscard]] CappedClock::Result<T> capped(const Plan<T>& plan, const Device<T>& device, const Time<T>& time,
                                            const Time<T>& clocked, const Work<T>& work,
                                            const Data<T>& traffic, const Time<T>& resident) {
  return apply<CappedClock, T>({.clocked = clocked,
                                .fixed = time - clocked,
                                .work_load = loaded(work, Data<T>(), resident, device),
                                .traffic_load = loaded(Work<T>(), traffic, Time<T>(), device),
                                .tdp = device.power.tdp,
                                .power_cap = plan.power_cap,
                                .clock_limit = plan.clock_limit,
                                .idle_fraction = device.conventions.idle_fraction});
}

/// A pass at the clock that its limits leave. What it takes longer counts as arithmetic; its stages are
/// slower alike.
template <class T> void slow(PassEstimate<T>& pass, const Plan<T>& plan, const Device<T>& device) {
  const auto r = capped(plan, device, pass.total, pass.cost.compute_bound, pass.cost.work, pass.cost.traffic,
                        pass.cost.kernels());
  const Time<T> more = r.slowed - pass.total;
  pass.slot = pass.slot * (r.slowed / pass.total);
  pass.total = r.slowed;
  pass.cost.compute_bound += more;
  pass.cost.total += more;
  pass.busy = r.load;
}

/// A step at the clock that its limits leave. The power regulator does not wait for a bubble to end. A bubble
/// lasts longer where its passes do.
template <class T> void slow(StepEstimate<T>& step, const Plan<T>& plan, const Device<T>& device) {
  const Time<T> running = step.total - step.bubble;
  const auto r =
      capped(plan, device, running, step.compute, step.work, step.traffic, step.compute + step.memory);
  const Time<T> more = r.slowed - running, idle = step.bubble * (more / step.slots);
  step.total += more + idle;
  step.slots += more;
  step.bubble += idle;
  step.compute += more;
  step.kernels += more;
  step.busy = r.load;
}

/// Sums a step's kernels and collectives into the reported parts.
template <class T>
[[nodiscard]] StepEstimate<T> step_price(const StepTime<T>& step, const ModelView<T>& model,
                                         const Plan<T>& plan, const Device<T>& device) {
  StepEstimate<T> out;
  const T& m = plan.microbatches;
  const PassBreakdown<T> passes = step.stage.passes();
  const PassBreakdown<T>& update = step.stage.update;
  out.total = step.total;
  out.slots = step.slots;
  out.bubble = step.bubble;
  out.compute = passes.compute_bound * m + update.compute_bound;
  out.memory = passes.memory_bound * m + update.memory_bound;
  out.overhead = passes.overhead * m + update.overhead + step.launch_wait + device.dispatch_overhead;
  out.kernels = (passes.total - passes.network - passes.host) * m;
  out.busy = loaded(passes, device) * m + loaded(update, device);
  out.exchange = step.exchange;
  out.tensor_parallel = step.tensor_parallel;
  out.expert_parallel = step.expert_parallel;
  out.context_parallel = step.context_parallel;
  out.pipeline_parallel = step.pipeline_parallel;
  out.host_transfer = step.host_transfer;
  const Time<T> kernels = passes.kernels() * m + update.kernels();
  out.exposed_communication = max(out.total - kernels - out.overhead - out.bubble, Time<T>());
  out.work = passes.work * m + update.work;
  out.traffic = passes.traffic * m + update.traffic;
  out.again = max(T{1.0}, T(passes.work / (passes.work - step.stage.recompute.work)));
  if (model.structure.capped) slow(out, plan, device);
  return out;
}

template <class T> class OperatorEstimator : public PassEstimator<T> {
 public:
  PassEstimate<T> prefill(const PassRequest<T>& request, const Device<T>& device, const Links<T>& links,
                          const T& /*prompt*/) const override {
    return pass(request, device, links);
  }
  PassEstimate<T> decode(const PassRequest<T>& request, const Device<T>& device,
                         const Links<T>& links) const override {
    return pass(request, device, links);
  }
  PassEstimate<T> inference(const PassRequest<T>& request, const Device<T>& device,
                            const Links<T>& links) const override {
    return pass(request, device, links);
  }

  StepEstimate<T> step(const PassRequest<T>& request, const Device<T>& device, const Links<T>& links,
                       const T& /*devices*/, const T& batch, const T& /*local*/) const override {
    const ModelView<T>& model = request.model;
    const Plan<T>& plan = request.plan;
    OpList<T> ops;
    const auto parts = step_parts(request, device, links, ops);
    StepEstimate<T> out = step_price(step_of(parts, model, plan, device), model, plan, device);
    out.demands = same_number(plan.batch, plan.largest_microbatch().batch)
                      ? mlsysim::step_demands(parts.totals, model, plan)
                      : OperatorEstimator::step_demands(model, plan, device);
    // The undivided model: the forward pass, and twice that for the backward pass, without the gradients of
    // frozen weights.
    Plan<T> whole = plan;
    whole.tp = whole.pp = whole.ep = whole.dp = whole.cp = whole.batch = T{1.0};
    whole.folded = false;
    const auto forward =
        forward_totals(model.structure, model.shape(), model.layers, whole, ops).stage(T{1.0}, T{1.0});
    out.model_work = (3.0 * forward.work - (1.0 - plan.trainable) * forward.weight_work) * batch;
    return out;
  }

  StageDemands<T> pass_demands(const ModelView<T>& model, const Plan<T>& plan) const override {
    OpList<T> ops;
    return mlsysim::pass_demands(forward_totals(model.structure, model.shape(), model.layers, plan, ops),
                                 model, plan);
  }
  StageDemands<T> step_demands(const ModelView<T>& model, const Plan<T>& plan,
                               const Device<T>& /*device*/) const override {
    OpList<T> ops;
    const Plan<T> largest = plan.largest_microbatch();
    return mlsysim::step_demands(training_totals(model.structure, model.shape(), model.layers, largest, ops),
                                 model, largest);
  }

  Data<T> cache(const ModelView<T>& model, const Plan<T>& plan) const override {
    return whole_cache(model, plan);
  }

  /// As few micro-batches as the memory allows in each accumulation step: all sequences of the step at once
  /// where they fit. Each micro-batch pays its launches and reads the weights, so fewer are faster. A
  /// pipeline takes micro-batches of one sequence for an expert-parallel rank.
  T default_microbatches(const ModelView<T>& model, const Plan<T>& plan, const Device<T>& device,
                         const T& local, const T& steps) const override {
    const T one{1.0}, ranks = plan.sequence_ranks();
    const T sequences = ceil_div(T(ceil_div(local, steps)), ranks);  // of a rank
    if constexpr (std::is_same_v<T, double>)  // a recording takes both ways, a number only its own
      if (plan.pp > one) return sequences * steps;
    const auto memory = [&](double held) -> Data<T> {
      Plan<T> p = plan;
      p.batch = held * ranks;
      p.microbatches = one;
      return this->step_memory(model, p, device).total;
    };
    // Every sequence needs as much as the one before.
    const Data<T> first = memory(1), each = max(Data<T>(memory(2) - first), Data<T>::from_base(one));
    const T fits = max(T(floor((device.memory.capacity - first) / each) + 1.0), one);
    return select(plan.pp > one, sequences, T(ceil_div(sequences, fits))) * steps;
  }

  SpillTime<T> spill_time(const MemoryBreakdown<T>& memory, const PassEstimate<T>& pass,
                          const Device<T>& device) const override {
    const Time<T> waited = mlsysim::spill_time(memory, pass.cost.traffic, pass.total, device);
    return {waited, waited};
  }

 private:
  [[nodiscard]] static PassEstimate<T> pass(const PassRequest<T>& request, const Device<T>& device,
                                            const Links<T>& links) {
    OpList<T> ops;
    PassEstimate<T> out = pass_estimate(request, device, links, ops);
    out.busy = loaded(out.cost, device);
    if (request.model.structure.capped) slow(out, request.plan, device);
    return out;
  }
};

}  // namespace mlsysim::detail
