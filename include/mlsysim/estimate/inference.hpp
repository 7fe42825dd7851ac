#pragma once
/// Latency, throughput, memory and energy of one batch of plain inference. Every device is a replica.
///
///     latency    = time of a pass over ceil(batch_size / accelerators) samples + spill
///     throughput = batch_size / latency
///     mfu        = filled min(1, work / (peak latency))
///
/// spill: wait for bytes that do not fit and cross the host link [s]. filled: share of the computed samples
/// that exist (estimate/replicas.hpp). All replicas are as slow as the fullest one.
///
/// Example: ResNet-50, 32 images in fp16 on one H100: 0.859 ms, 37,200 images/s, MFU 31 %.

#include <mlsysim/estimate/limits.hpp>
#include <mlsysim/estimate/macro.hpp>
#include <mlsysim/estimate/replicas.hpp>
#include <mlsysim/physics/energy.hpp>
#include <mlsysim/reflect/join.hpp>
#include <mlsysim/timing/fidelity_model.hpp>

namespace mlsysim {

/// One batch, its model and its devices.
template <class T = double> struct InferenceProblem {
  T batch_size{1.0};  ///< of all devices
  T seq_len{1.0}, accelerators{1.0};
  Plan<T> plan;  ///< bytes
  Device<T> device;
  Links<T> links;
  ModelView<T> model;
  MacroProblem<T> macro;
  PlanLimits<T> limits;
  const FidelityModel* fidelity_model = nullptr;
  bool sequences = true;  ///< the workload has a token axis

  static constexpr auto fields() {
    using P = InferenceProblem;
    return rows(field(&P::batch_size, key::batch_size), field(&P::seq_len, key::seq_len),
                field(&P::accelerators, key::accelerators), field(&P::plan, "plan", "", ""),
                field(&P::device, "hardware", "", ""), field(&P::links, "links", "", ""),
                field(&P::model, "", "", ""), field(&P::macro, "", "", ""),
                field(&P::limits, "limits", "", ""));
  }
  static constexpr auto categories() {
    using P = InferenceProblem;
    return rows(category(&P::fidelity_model, "fidelity_model", "level of detail"),
                category(&P::sequences, "sequences", "the workload has a token axis"));
  }
};

/// Time, memory and cost of one batch.
template <class T = double> struct InferenceEstimate {
  FeasibilityEstimate<T> feasibility;
  Time<T> latency, latency_compute, latency_memory, latency_network, latency_overhead;
  SampleRate<T> throughput;
  T mfu{0.0}, utilization{0.0}, device_utilization{0.0};
  Intensity<T> arithmetic_intensity;
  Data<T> offload_spill_bytes;
  MemoryBreakdown<T> memory;
  MacroEstimate<T> macro;  ///< where something is charged

  static constexpr auto fields() {
    using R = InferenceEstimate;
    return join(rows(field(&R::feasibility, "", "", "")), reported_fields(),
                rows(field(&R::macro, "", "", "")));
  }
  static constexpr auto reported_fields() {
    using R = InferenceEstimate;
    return rows(field(&R::latency, key::latency), field(&R::latency_compute, key::latency_compute),
                field(&R::latency_memory, key::latency_memory),
                field(&R::latency_network, "latency_network", "ms", "collectives"),
                field(&R::latency_overhead, key::latency_overhead), field(&R::throughput, key::throughput),
                field(&R::mfu, key::mfu), field(&R::utilization, key::utilization),
                field(&R::device_utilization, "device_utilization", "",
                      "share of the time in which kernels run on a device that has samples"),
                field(&R::arithmetic_intensity, key::arithmetic_intensity),
                field(&R::offload_spill_bytes, "offload_spill_bytes", "GB",
                      "bytes that do not fit and cross the host link"),
                field(&R::memory, "memory", "", "memory of the device by use"));
  }
};

/// Electrical energy of one batch on one device, at the busy share of its time [J].
template <class T>
[[nodiscard]] Energy<T> energy_of_batch(const Device<T>& device, const T& busy, const Time<T>& latency) {
  return apply<EnergyProportional, T>({.tdp = device.power.tdp,
                                       .utilization = busy,
                                       .time = latency,
                                       .idle_fraction = device.conventions.idle_fraction})
      .energy;
}

namespace detail {

/// One inference, all but whether it fits and what is charged.
template <class T> [[nodiscard]] InferenceEstimate<T> inference_estimate(const InferenceProblem<T>& v) {
  const T one{1.0};
  const PassEstimator<T>& estimator = v.fidelity_model->template estimator<T>();
  InferenceEstimate<T> out;
  const auto share = share_batch(v.batch_size, v.accelerators);
  Plan<T> plan = v.plan;
  plan.batch = share.sequences;
  plan.context = v.sequences ? v.seq_len : one;
  plan.new_tokens = v.model.structure.phase == Phase::decode ? one : plan.context;
  const PassEstimate<T> pass =
      estimator.inference({v.model, plan, v.device.kernels.issue}, v.device, v.links);
  out.memory = fullest(pass.demands, v.model.structure, plan, v.device);
  out.offload_spill_bytes = max(out.memory.total - out.memory.capacity, Data<T>());
  const SpillTime<T> spill = estimator.spill_time(out.memory, pass, v.device);
  out.latency = pass.total + spill.waited;
  out.latency_compute = pass.cost.compute_bound;
  out.latency_memory = pass.cost.memory_bound + spill.memory;
  out.latency_network = pass.cost.network;
  out.latency_overhead = pass.cost.overhead;
  out.arithmetic_intensity = pass.cost.work / pass.cost.traffic;
  out.throughput = Samples<T>::from_base(v.batch_size) / out.latency;
  out.mfu = share.filled * min(one, T(pass.cost.work / (v.device.compute.dense * out.latency)));
  out.device_utilization = min(one, T(pass.busy / out.latency));
  out.utilization = out.device_utilization * share.working;
  return out;
}

}  // namespace detail
}  // namespace mlsysim
