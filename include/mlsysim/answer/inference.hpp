#pragma once
/// One inference over any scalar: every device is a replica that runs its part of the batch.

#include <mlsysim/answer/replicas.hpp>
#include <mlsysim/physics/energy.hpp>
#include <mlsysim/price/pricing.hpp>

namespace mlsysim {

template <class T = double> struct InferenceViews {
  const Pricing* pricing = nullptr;
  ModelView<T> model;
  Device<T> device;
  Links<T> links;
  Plan<T> plan;                     ///< bytes
  T batch{1.0}, accelerators{1.0};  ///< of all devices
  T seq_len{1.0};
  bool sequences = true;  ///< the workload has a token axis
};

template <class T = double> struct InferenceNumbers {
  Time<T> latency, latency_compute, latency_memory, latency_network, latency_overhead;
  SampleRate<T> throughput;
  T mfu{0.0}, utilization{0.0};
  Intensity<T> arithmetic_intensity;
  Energy<T> energy_per_batch;
  Data<T> spilled;
  MemoryBreakdown<T> memory;

  static constexpr auto fields() {
    using R = InferenceNumbers;
    return rows(
        field(&R::latency, "latency", "ms", "time of one batch"),
        field(&R::latency_compute, "latency_compute", "ms", "arithmetic"),
        field(&R::latency_memory, "latency_memory", "ms", "memory traffic"),
        field(&R::latency_network, "latency_network", "ms", "collectives"),
        field(&R::latency_overhead, "latency_overhead", "ms", "launches and dispatch"),
        field(&R::throughput, "throughput", "sample/s", "samples of all devices"),
        field(&R::mfu, "mfu", "", "model FLOPs utilisation"),
        field(&R::utilization, "utilization", "", "share of the time in which kernels run"),
        field(&R::arithmetic_intensity, "arithmetic_intensity", "FLOP/B", "work per byte moved"),
        field(&R::energy_per_batch, "energy_per_batch", "J", "energy of one batch on one device"),
        field(&R::spilled, "spilled", "GB", "bytes that do not fit and are fetched over the host link"),
        field(&R::memory, "memory", "", "memory of the device by use"));
  }
};

template <class T> [[nodiscard]] InferenceNumbers<T> inference_numbers(const InferenceViews<T>& v) {
  const T one{1.0};
  const Pricer<T>& pricer = v.pricing->template pricer<T>();
  InferenceNumbers<T> out;
  const auto share = share_batch(v.batch, v.accelerators);
  Plan<T> plan = v.plan;
  plan.batch = share.sequences;
  plan.context = v.sequences ? v.seq_len : one;
  plan.new_tokens = v.model.structure.phase == Phase::decode ? one : plan.context;
  const PassRequest<T> request{v.model, plan, v.device, v.links};
  const PassEstimate<T> pass = pricer.inference(request);
  out.memory = fullest(pass.demands, v.model.structure, plan, v.device);
  out.spilled = max(out.memory.total - out.memory.capacity, Data<T>());
  const SpillTime<T> spill = pricer.spill_time(out.memory, pass, v.device);
  out.latency = pass.total + spill.waited;
  out.latency_compute = pass.cost.compute_bound;
  out.latency_memory = pass.cost.memory_bound + spill.memory;
  out.latency_network = pass.cost.network;
  out.latency_overhead = pass.cost.overhead;
  out.arithmetic_intensity = pass.cost.work / pass.cost.traffic;
  out.throughput = Samples<T>::from_base(v.batch) / out.latency;
  out.mfu = share.filled * min(one, T(pass.cost.work / (v.device.compute.dense * out.latency)));
  const T busy = min(one, T(pass.busy / out.latency));
  out.utilization = busy * share.working;
  out.energy_per_batch = apply<EnergyProportional, T>({.tdp = v.device.power.tdp,
                                                       .utilization = busy,
                                                       .time = out.latency,
                                                       .idle_fraction = v.device.conventions.idle_fraction})
                             .energy;
  return out;
}

}  // namespace mlsysim
