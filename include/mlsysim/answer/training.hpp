#pragma once
/// Training over any scalar: everything that is reported of an optimizer step of a fleet.

#include <mlsysim/answer/replicas.hpp>
#include <mlsysim/price/pricing.hpp>

namespace mlsysim {

/// How the sequences of a replica become micro-batches.
enum class Microbatches : std::uint8_t {
  by_default,  ///< nobody says: the pricer divides
  counted,     ///< their number is given
  sized        ///< their size is given
};

/// What a training step is computed from.
template <class T = double> struct TrainingViews {
  const Pricing* pricing = nullptr;
  ModelView<T> model;
  Device<T> device;
  Links<T> links;
  Plan<T> plan;                     ///< degrees and bytes; batch and micro-batches are settled here
  T batch{1.0}, accelerators{1.0};  ///< of the whole fleet
  T seq_len{1.0};
  Microbatches division = Microbatches::by_default;
  T microbatch_size{1.0}, microbatch_count{1.0}, accumulation_steps{1.0};
  bool sequences = true;  ///< the workload has a token axis
  bool spills = false;    ///< what does not fit is fetched over the host link, instead of being refused
};

template <class T = double> struct TrainingNumbers {
  Time<T> step_latency, latency_compute, latency_memory, latency_network, latency_overhead;
  Time<T> comm_overhead, data_parallel, tensor_parallel, expert_parallel, context_parallel, pipeline_parallel,
      host_transfer;
  Time<T> pipeline_bubble;
  T bubble_fraction{0.0};
  SampleRate<T> fleet_throughput;
  TokenRate<T> token_throughput;
  T mfu{0.0}, hfu{0.0}, scaling_efficiency{0.0}, utilization{0.0};
  T dp_size{1.0}, microbatch_count{1.0}, microbatch_size{1.0};
  Intensity<T> arithmetic_intensity;
  Data<T> spilled;
  MemoryBreakdown<T> memory;

  static constexpr auto fields() {
    using R = TrainingNumbers;
    return rows(
        field(&R::step_latency, "step_latency", "ms", "time of one optimizer step"),
        field(&R::latency_compute, "latency_compute", "ms", "arithmetic of the step"),
        field(&R::latency_memory, "latency_memory", "ms", "memory-bound part of the step"),
        field(&R::latency_network, "latency_network", "ms", "collectives that nothing hides"),
        field(&R::latency_overhead, "latency_overhead", "ms", "launches and dispatch"),
        field(&R::comm_overhead, "comm_overhead", "ms", "collectives and host transfers before overlap"),
        field(&R::data_parallel, "data_parallel", "ms", "of them, gradients and weights over the replicas"),
        field(&R::tensor_parallel, "tensor_parallel", "ms", "of them, inside the blocks"),
        field(&R::expert_parallel, "expert_parallel", "ms", "of them, tokens of the experts"),
        field(&R::context_parallel, "context_parallel", "ms", "of them, keys and values"),
        field(&R::pipeline_parallel, "pipeline_parallel", "ms", "of them, between stages"),
        field(&R::host_transfer, "host_transfer", "ms", "of them, what crosses the link to host memory"),
        field(&R::pipeline_bubble, "pipeline_bubble", "ms", "idle time of the pipeline"),
        field(&R::bubble_fraction, "bubble_fraction", "", "share of the pipeline's time that is idle"),
        field(&R::fleet_throughput, "fleet_throughput", "sample/s", "sequences or samples per second"),
        field(&R::token_throughput, "token_throughput", "token/s", "tokens per second"),
        field(&R::mfu, "mfu", "", "model FLOPs utilisation"),
        field(&R::hfu, "hfu", "", "hardware FLOPs utilisation"),
        field(&R::scaling_efficiency, "scaling_efficiency", "", "kernel time over step time"),
        field(&R::utilization, "utilization", "", "share of the time in which kernels run"),
        field(&R::dp_size, "dp_size", "", "data-parallel replicas"),
        field(&R::microbatch_count, "microbatch_count", "", "micro-batches per replica and step"),
        field(&R::microbatch_size, "microbatch_size", "", "sequences of one micro-batch of a rank"),
        field(&R::arithmetic_intensity, "arithmetic_intensity", "FLOP/B", "work per byte moved"),
        field(&R::spilled, "spilled", "GB", "bytes that do not fit and are fetched over the host link"),
        field(&R::memory, "memory", "", "memory of the fullest device by use"));
  }
};

/// Micro-batches of one replica, and sequences in each.
template <class T = double> struct ReplicaBatch { T microbatches{1.0}, microbatch{1.0}; };

/// Divides a replica's sequences into `count` micro-batches, of one sequence at least.
template <class T> [[nodiscard]] ReplicaBatch<T> divide_batch(const T& local, const T& count) {
  const T microbatches = min(count, local);
  return {microbatches, ceil(local / microbatches)};
}

/// How many micro-batches a replica of `local` sequences is asked for.
template <class T>
[[nodiscard]] T microbatches_asked(const TrainingViews<T>& v, const Plan<T>& plan, const T& local) {
  switch (v.division) {
    case Microbatches::sized:
      return ceil_div(local, T(v.microbatch_size * plan.sequence_ranks()));
    case Microbatches::counted:
      return v.microbatch_count * v.accumulation_steps;
    case Microbatches::by_default:
      break;
  }
  return v.pricing->template pricer<T>().default_microbatches({v.model, plan, v.device, v.links}, local,
                                                              v.accumulation_steps);
}

/// The plan of a replica, with its micro-batches.
template <class T> [[nodiscard]] Plan<T> training_plan(const TrainingViews<T>& v) {
  Plan<T> plan = v.plan;
  plan.dp = v.accelerators / plan.replica();
  plan.new_tokens = plan.context = v.sequences ? v.seq_len : T{1.0};
  const auto share = share_batch(v.batch, plan.dp);
  const auto parts = divide_batch(share.sequences, microbatches_asked(v, plan, share.sequences));
  plan.microbatches = parts.microbatches;
  plan.batch = parts.microbatch;
  return plan;
}

/// One optimizer step.
///
/// MFU counts the forward pass of the undivided model and twice that for the backward pass, without the
/// weight gradients of frozen weights; HFU adds what is recomputed. Congestion slows the exchange over the
/// replicas, a straggler everything.
template <class T> [[nodiscard]] TrainingNumbers<T> training_numbers(const TrainingViews<T>& v) {
  const T one{1.0};
  const Pricer<T>& pricer = v.pricing->template pricer<T>();
  const Plan<T> plan = training_plan(v);
  const PassRequest<T> request{v.model, plan, v.device, v.links};
  const auto share = share_batch(v.batch, plan.dp);
  const StepEstimate<T> step = pricer.step(request, v.accelerators, v.batch, share.sequences);
  TrainingNumbers<T> out;
  const Time<T> congestion = step.exchange * (plan.congestion - 1.0);
  out.memory = fullest(step.demands, v.model.structure, plan, v.device);
  SpillTime<T> spill;
  if (v.spills) {
    PassEstimate<T> pass;
    pass.total = step.total;
    pass.cost.traffic = step.traffic;
    pass.cost.compute_bound = step.compute;
    pass.cost.memory_bound = step.memory;
    out.spilled = max(out.memory.total - out.memory.capacity, Data<T>());
    spill = pricer.spill_time(out.memory, pass, v.device);
  }
  out.step_latency = step.total * plan.straggler + congestion + spill.waited;
  out.latency_compute = step.compute;
  out.latency_memory = step.memory + spill.memory;
  out.latency_overhead = step.overhead;
  out.latency_network = step.exposed_communication + congestion;
  out.comm_overhead = step.communication() + congestion;
  out.data_parallel = step.exchange + congestion;
  out.tensor_parallel = step.tensor_parallel;
  out.expert_parallel = step.expert_parallel;
  out.context_parallel = step.context_parallel;
  out.pipeline_parallel = step.pipeline_parallel;
  out.host_transfer = step.host_transfer;
  out.pipeline_bubble = step.bubble;
  out.bubble_fraction = step.bubble / (step.bubble + step.slots);
  out.scaling_efficiency = step.kernels / out.step_latency;
  out.utilization = min(one, T(step.busy / out.step_latency)) * share.working;
  out.mfu = min(one, T(step.model_work / (v.device.compute.dense * v.accelerators * out.step_latency)));
  out.hfu = min(one, T(out.mfu * step.again));
  out.dp_size = plan.dp;
  out.microbatch_count = plan.microbatches;
  out.microbatch_size = plan.batch / plan.sequence_ranks();
  out.fleet_throughput = Samples<T>::from_base(v.batch) / out.step_latency;
  out.token_throughput = Tokens<T>::from_base(v.batch * v.seq_len) / out.step_latency;
  out.arithmetic_intensity = step.work / step.traffic;
  return out;
}

}  // namespace mlsysim
