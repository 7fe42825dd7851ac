#pragma once
/// Time, memory, throughput, MFU and cost of an optimizer step on a fleet.
///
///     step_latency = step straggler + exchange (congestion - 1) + spill
///     mfu          = model_work / (peak accelerators step_latency)          hfu = mfu again
///     throughput   = batch_size / step_latency
///
/// step: slots, bubble and update (timing/step.hpp) [s]. exchange: gradients and weights over the replicas
/// [s]. model_work: forward plus backward of the undivided model, without weight gradients of frozen weights
/// [FLOP]. again: work that runs, recomputation included, over model_work. MFU and HFU are at most 1.
///
/// Example: Llama-3.1-8B, DGX H100, TP 8, bf16, 8 sequences of 4,096 tokens: 562 ms.
/// MFU 3 x 8 x 65.9 TFLOP / (8 x 989 TFLOP/s x 0.562 s) = 35.6 %.

#include <mlsysim/estimate/limits.hpp>
#include <mlsysim/estimate/macro.hpp>
#include <mlsysim/estimate/reliability.hpp>
#include <mlsysim/estimate/replicas.hpp>
#include <mlsysim/reflect/join.hpp>
#include <mlsysim/timing/fidelity_model.hpp>

namespace mlsysim {

/// How the sequences of a replica become micro-batches.
enum class Microbatches : std::uint8_t {
  by_default,  ///< nobody says: the estimator divides
  counted,     ///< their number is given
  sized        ///< their size is given
};

/// An optimizer step of a fleet.
template <class T = double> struct TrainingProblem {
  T batch_size{1.0};  ///< of the whole fleet
  T seq_len{1.0}, accelerators{1.0};
  T microbatch_size{1.0}, microbatch_count{1.0}, gradient_accumulation_steps{1.0};
  Plan<T> plan;  ///< degrees and bytes; the estimate settles the micro-batches
  Device<T> device;
  Links<T> links;
  ModelView<T> model;
  MacroProblem<T> macro;
  PlanLimits<T> limits;
  T given_microbatches{0.0};  ///< that were given beside their size; 0: none
  T training_tokens{0.0};     ///< of the run; 0: nobody says
  FailureProblem<T> failures;
  const FidelityModel* fidelity_model = nullptr;
  Microbatches division = Microbatches::by_default;
  bool sequences = true;    ///< the workload has a token axis
  bool spills = false;      ///< what does not fit is fetched over the host link, instead of being refused
  bool sharded = false;     ///< ZeRO divides over a group that was named
  bool has_tokens = false;  ///< the number of tokens of the run is known
  bool fails = false;       ///< how often nodes fail is asked

  static constexpr auto fields() {
    using P = TrainingProblem;
    return rows(
        field(&P::batch_size, key::batch_size), field(&P::seq_len, key::seq_len),
        field(&P::accelerators, key::accelerators),
        field(&P::microbatch_size, "microbatch_size", "", "sequences of one micro-batch of a rank"),
        field(&P::microbatch_count, key::microbatch_count),
        field(&P::gradient_accumulation_steps, key::gradient_accumulation_steps),
        field(&P::plan, "plan", "", ""), field(&P::device, "hardware", "", ""),
        field(&P::links, "links", "", ""), field(&P::model, "", "", ""), field(&P::macro, "", "", ""),
        field(&P::limits, "limits", "", ""),
        field(&P::given_microbatches, "given_microbatches", "", "micro-batches that were given").fixed(),
        field(&P::training_tokens, "training_tokens", "", "tokens of the run").fixed(),
        field(&P::failures, "failures", "", ""));
  }
  static constexpr auto categories() {
    using P = TrainingProblem;
    return rows(category(&P::fidelity_model, "fidelity_model", "level of detail"),
                category(&P::division, "division", "what decides the number of micro-batches"),
                category(&P::sequences, "sequences", "the workload has a token axis"),
                category(&P::spills, "spills", "what does not fit is fetched over the host link"),
                category(&P::sharded, "sharded", "the group over which ZeRO divides is named"),
                category(&P::has_tokens, "has_tokens", "the number of tokens of the run is known"),
                category(&P::fails, "fails", "failures of nodes are counted"));
  }
};

/// Time, memory, throughput and cost of optimizer steps.
template <class T = double> struct TrainingEstimate {
  FeasibilityEstimate<T> feasibility;
  Time<T> step_latency, latency_compute, latency_memory, latency_overhead, exposed_communication_latency;
  Time<T> communication_latency, dp_communication_latency, tp_communication_latency, ep_communication_latency,
      cp_communication_latency, pp_communication_latency, host_transfer_latency;
  Time<T> pipeline_bubble_latency;
  T bubble_fraction{0.0};
  SampleRate<T> effective_throughput;
  TokenRate<T> token_throughput;
  T mfu{0.0}, hfu{0.0}, scaling_efficiency{0.0}, utilization{0.0};
  T dp_size{1.0}, microbatch_count{1.0}, microbatch_size{1.0};
  Intensity<T> arithmetic_intensity;
  Data<T> offload_spill_bytes;
  MemoryBreakdown<T> memory;
  MacroEstimate<T> macro;              ///< where something is charged
  ReliabilityEstimate<T> reliability;  ///< where failures are counted
  Time<T> training_time;               ///< where the number of tokens is known

  static constexpr auto fields() {
    using R = TrainingEstimate;
    return join(rows(field(&R::feasibility, "", "", "")), reported_fields(),
                rows(field(&R::macro, "", "", ""), field(&R::reliability, "", "", ""),
                     field(&R::training_time, "training_time", "d", "time for the tokens of the run")));
  }
  static constexpr auto reported_fields() {
    using R = TrainingEstimate;
    return rows(field(&R::step_latency, key::step_latency), field(&R::latency_compute, key::latency_compute),
                field(&R::latency_memory, key::latency_memory),
                field(&R::exposed_communication_latency, "exposed_communication_latency", "ms",
                      "communication that the step waits for"),
                field(&R::latency_overhead, key::latency_overhead),
                field(&R::communication_latency, key::communication_latency),
                field(&R::dp_communication_latency, key::dp_communication_latency),
                field(&R::tp_communication_latency, key::tp_communication_latency),
                field(&R::ep_communication_latency, key::ep_communication_latency),
                field(&R::cp_communication_latency, "cp_communication_latency", "ms",
                      "exchange of keys and values, before overlap"),
                field(&R::pp_communication_latency, "pp_communication_latency", "ms",
                      "transfers between pipeline stages, before overlap"),
                field(&R::host_transfer_latency, "host_transfer_latency", "ms",
                      "offloaded bytes over the host link, before overlap"),
                field(&R::pipeline_bubble_latency, key::pipeline_bubble_latency),
                field(&R::bubble_fraction, key::bubble_fraction),
                field(&R::effective_throughput, key::effective_throughput),
                field(&R::token_throughput, key::token_throughput), field(&R::mfu, key::mfu),
                field(&R::hfu, key::hfu), field(&R::scaling_efficiency, key::scaling_efficiency),
                field(&R::utilization, key::utilization),
                field(&R::dp_size, "dp_size", "", "data-parallel replicas"),
                field(&R::microbatch_count, "microbatch_count", "", "micro-batches per replica and step"),
                field(&R::microbatch_size, "microbatch_size", "", "sequences of one micro-batch of a rank"),
                field(&R::arithmetic_intensity, key::arithmetic_intensity),
                field(&R::offload_spill_bytes, "offload_spill_bytes", "GB",
                      "bytes that do not fit and cross the host link"),
                field(&R::memory, "memory", "", "memory of the fullest device by use"));
  }
};

/// How many micro-batches a replica of `local` sequences is asked for.
template <class T>
[[nodiscard]] T microbatches_asked(const TrainingProblem<T>& v, const Plan<T>& plan, const T& local) {
  switch (v.division) {
    case Microbatches::sized:
      return ceil_div(local, T(v.microbatch_size * plan.sequence_ranks()));
    case Microbatches::counted:
      return v.microbatch_count * v.gradient_accumulation_steps;
    case Microbatches::by_default:
      break;
  }
  return v.fidelity_model->template estimator<T>().default_microbatches(v.model, plan, v.device, local,
                                                                        v.gradient_accumulation_steps);
}

/// The plan of a replica, with its micro-batches of one sequence at least. Its batch is the mean of the
/// micro-batches: a step takes the time of all sequences, and memory holds the largest micro-batch.
template <class T> [[nodiscard]] Plan<T> training_plan(const TrainingProblem<T>& v) {
  Plan<T> plan = v.plan;
  plan.dp = v.accelerators / plan.replica();
  plan.new_tokens = plan.context = v.sequences ? v.seq_len : T{1.0};
  const auto share = share_batch(v.batch_size, plan.dp);
  plan.microbatches = min(microbatches_asked(v, plan, share.sequences), share.sequences);
  plan.batch = share.sequences / plan.microbatches;
  return plan;
}

namespace detail {

/// One optimizer step, all but whether it fits, what is charged and what fails.
template <class T> [[nodiscard]] TrainingEstimate<T> training_estimate(const TrainingProblem<T>& v) {
  const T one{1.0};
  const PassEstimator<T>& estimator = v.fidelity_model->template estimator<T>();
  const Plan<T> plan = training_plan(v);
  const auto share = share_batch(v.batch_size, plan.dp);
  const StepEstimate<T> step = estimator.step({v.model, plan, v.device.kernels.issue}, v.device, v.links,
                                              v.accelerators, v.batch_size, share.sequences);
  TrainingEstimate<T> out;
  const Time<T> congestion = step.exchange * (plan.congestion - 1.0);
  out.memory = fullest(step.demands, v.model.structure, plan, v.device);
  SpillTime<T> spill;
  if (v.spills) {
    PassEstimate<T> pass;
    pass.total = step.total;
    pass.cost.traffic = step.traffic;
    pass.cost.compute_bound = step.compute;
    pass.cost.memory_bound = step.memory;
    out.offload_spill_bytes = max(out.memory.total - out.memory.capacity, Data<T>());
    spill = estimator.spill_time(out.memory, pass, v.device);
  }
  out.step_latency = step.total * plan.straggler + congestion + spill.waited;
  out.latency_compute = step.compute;
  out.latency_memory = step.memory + spill.memory;
  out.latency_overhead = step.overhead;
  out.exposed_communication_latency = step.exposed_communication + congestion;
  out.communication_latency = step.communication() + congestion;
  out.dp_communication_latency = step.exchange + congestion;
  out.tp_communication_latency = step.tensor_parallel;
  out.ep_communication_latency = step.expert_parallel;
  out.cp_communication_latency = step.context_parallel;
  out.pp_communication_latency = step.pipeline_parallel;
  out.host_transfer_latency = step.host_transfer;
  out.pipeline_bubble_latency = step.bubble;
  out.bubble_fraction = step.bubble / (step.bubble + step.slots);
  out.scaling_efficiency = step.kernels / out.step_latency;
  out.utilization = min(one, T(step.busy / out.step_latency)) * share.working;
  out.mfu = min(one, T(step.model_work / (v.device.compute.dense * v.accelerators * out.step_latency)));
  out.hfu = min(one, T(out.mfu * step.again));
  out.dp_size = plan.dp;
  out.microbatch_count = plan.microbatches;
  out.microbatch_size = plan.largest_sequences();
  out.effective_throughput = Samples<T>::from_base(v.batch_size) / out.step_latency;
  out.token_throughput = Tokens<T>::from_base(v.batch_size * v.seq_len) / out.step_latency;
  out.arithmetic_intensity = step.work / step.traffic;
  return out;
}

}  // namespace detail
}  // namespace mlsysim
