#pragma once
/// One optimizer step of a fleet at operator fidelity, over any scalar: from views to what is reported.

#include <mlsysim/lowering/step.hpp>

namespace mlsysim {

/// Micro-batches of one replica, and sequences in each.
template <class T = double>
struct ReplicaBatch {
  T microbatches{1.0}, microbatch{1.0};
};

/// Micro-batches of a replica of `local` sequences where nobody says how many: in each of `steps` accumulation steps all
/// of its sequences at once, as on a single device, or as few parts as a device has the memory for: of equal size where up
/// to 16 more make them so. A pipeline wants many micro-batches: each has one sequence for an expert-parallel rank.
/// @param plan   of the replica; its batch and micro-batches do not count
/// @param source where the parts of the step come from, e.g. FreshParts
template <class T, class Source>
[[nodiscard]] T default_microbatches(const ModelView<T>& model, const Plan<T>& plan, const Device<T>& device, const Links<T>& links,
                                     const T& local, const T& steps, const Source& source) {
  const T one{1.0};
  const T sequences = ceil_div(T(ceil_div(local, steps)), plan.ep);  // of a rank
  const auto memory = [&](double held) -> Data<T> {
    Plan<T> p = plan;
    p.batch = held * plan.ep;
    p.microbatches = one;
    return step_memory<T>(source.step(model, p, device, links), model, p, device).total;
  };
  // Every sequence needs as much as the one before.
  const Data<T> first = memory(1), each = max(Data<T>(memory(2) - first), Data<T>::from_base(one));
  const T fits = max(T(floor((device.memory_capacity - first) / each) + 1.0), one);
  const T fewest = ceil_div(sequences, fits);
  T count = fewest;
  for (double more = 16; more >= 0; --more) {
    const T parts = fewest + more, part = sequences / parts;
    count = select(floor(part) >= part, parts, count);
  }
  return select(plan.pp > one, sequences, min(count, sequences)) * steps;
}

/// Divides a replica's sequences into `count` micro-batches, of one sequence at least.
template <class T>
[[nodiscard]] ReplicaBatch<T> divide_batch(const T& local, const T& count) {
  const T microbatches = min(count, local);
  return {microbatches, ceil(local / microbatches)};
}

/// What a training step comes to.
template <class T = double>
struct TrainingAnswer {
  StepTime<T> step;
  Time<T> latency_compute, latency_memory, latency_overhead;  ///< by what limits the kernels
  Time<T> communication;          ///< all collectives and transfers, over the host link too, before overlap
  Time<T> exposed_communication;  ///< what of them the step waits for
  T scaling_efficiency{1.0}, mfu{0.0}, hfu{0.0}, utilization{0.0};
};

/// The step of a plan that `devices` devices share for a global batch of `batch` sequences.
///
/// MFU counts the forward pass of the undivided model and twice that for the backward pass, without the weight gradients
/// of frozen weights; HFU adds what is recomputed.
/// @param source where the parts of the step come from, e.g. FreshParts
template <class T, class Source>
[[nodiscard]] TrainingAnswer<T> training_core(const ModelView<T>& model, const Plan<T>& plan, const Device<T>& device,
                                              const Links<T>& links, const T& devices, const T& batch, const Source& source) {
  TrainingAnswer<T> out;
  out.step = step_of(source.step(model, plan, device, links), model, plan, device);
  const StepTime<T>& step = out.step;
  const T& m = plan.microbatches;
  const PassCost<T> passes = step.stage.passes();
  const PassCost<T>& update = step.stage.update;
  out.latency_compute = passes.compute_bound * m + update.compute_bound;
  out.latency_memory = passes.memory_bound * m + update.memory_bound;
  out.latency_overhead = passes.overhead * m + update.overhead + step.launch_wait + device.dispatch;
  out.communication = step.exchange + step.tensor_parallel + step.expert_parallel + step.context_parallel + step.pipeline_parallel +
                      step.host_transfer;
  const Time<T> kernels = passes.kernels() * m + update.kernels();
  out.exposed_communication = max(step.total - kernels - out.latency_overhead - step.bubble, Time<T>());
  out.scaling_efficiency = (passes.total - passes.network - passes.host) * m / step.total;
  out.utilization = min(T{1.0}, out.scaling_efficiency);  // kernels draw full power, waiting draws idle power

  Plan<T> whole = plan;
  whole.tp = whole.pp = whole.ep = whole.dp = whole.cp = whole.batch = T{1.0};
  const ListTotals<T> forward = source.forward(model, whole);
  const Work<T> work = (3.0 * forward.work - (1.0 - plan.trainable) * forward.weight_work) * batch;
  out.mfu = min(T{1.0}, work / (device.matrix_rate * devices * step.total));
  const T again = passes.work / (passes.work - step.stage.recompute.work);
  out.hfu = min(T{1.0}, out.mfu * max(T{1.0}, again));
  return out;
}

/// With `ops` as workspace.
template <class T>
[[nodiscard]] TrainingAnswer<T> training_core(const ModelView<T>& model, const Plan<T>& plan, const Device<T>& device,
                                              const Links<T>& links, const T& devices, const T& batch, OpList<T>& ops) {
  return training_core(model, plan, device, links, devices, batch, FreshParts<T>{ops});
}

}  // namespace mlsysim
