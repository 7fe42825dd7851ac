#include "catalogue/shared/power_limits.hpp"
#include "catalogue/shared/unpriced.hpp"

#include <mlsysim/catalogue/detail/prepare.hpp>
#include <mlsysim/catalogue/machine.hpp>

#include <algorithm>

namespace mlsysim {
namespace {

using In = SingleNodeModel::Inputs;
using Out = SingleNodeModel::Result;

Bottleneck slowest(const Out& out) {
  if (!out.feasible) return Bottleneck::capacity;
  if (out.latency_overhead > max(out.latency_compute, out.latency_memory)) return Bottleneck::overhead;
  return out.latency_memory > out.latency_compute ? Bottleneck::memory : Bottleneck::compute;
}

DeviceUse use_of(const In& in, Precision precision, Phase phase, const ModelView<>& model) {
  return {.precision = precision,
          .phase = phase,
          .params = model.totals.params,
          .efficiency = in.efficiency,
          .execution = in.execution};
}

/// Limits of power and clock, which the plan and the structure of a pass hold.
template <class Views> void set_limits(const In& in, const Conventions& c, Views& v, Notes& notes) {
  if (!v.pricing->lists_operators())
    detail::warn_of_unpriced(in, {"power_cap", "clock_limit", "execution"}, notes);
  else
    v.model.structure.capped =
        detail::set_power_limits(v.plan, in.power_cap, in.clock_limit, *in.hardware, c, notes);
}

}  // namespace

TrainingViews<> prepare_step(const In& in, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  TrainingViews<> v;
  v.pricing = &pricing_for(in.fidelity, *in.workload, notes);
  v.model = v.pricing->model(*in.workload, Phase::training, notes);
  v.model.structure.recomputed = parts_of(in.recomputation);
  v.model.structure.zero_stage = static_cast<int>(in.zero_stage);
  v.device = v.pricing->device(*in.hardware, use_of(in, precision, Phase::training, v.model), c, notes);
  v.links = shipped_links(*v.pricing, *in.hardware, in.dp_size, c, notes, Phase::training);
  v.pricing->set_overlap(v.plan, std::nullopt, std::nullopt, c, notes);
  v.plan.exchange_bucket = c.exchange_bucket;
  if (in.zero_stage < 3 && in.dp_size > 1) notes.assume("exchange_bucket", c.exchange_bucket, kDefaults);
  set_storage(v.plan, v.pricing->training_storage(precision, in.optimizer));
  v.model.structure.orthogonalizes = in.optimizer == OptimizerKind::muon && v.pricing->lists_operators();
  set_limits(in, c, v, notes);
  v.batch = in.batch_size * in.dp_size;
  v.accelerators = in.dp_size;
  v.seq_len = seq_len_or_default(in.seq_len, *in.workload, 0, notes);
  v.sequences = !is_listed(in.workload->architecture);
  v.division = Microbatches::counted;
  v.spills = true;
  warn_of_positions(*in.workload, v.seq_len, notes);
  return v;
}

namespace {

/// What a step and an inference are reported by in the same words.
template <class Numbers>
void fill(Out& out, const Numbers& n, const Pricing& pricing, const Device<>& device) {
  out.fidelity = pricing.fidelity();
  out.latency_compute = n.latency_compute;
  out.latency_memory = n.latency_memory;
  out.latency_overhead = n.latency_overhead;
  out.arithmetic_intensity = n.arithmetic_intensity;
  out.mfu = n.mfu;
  out.utilization = n.utilization;
  out.memory = n.memory;
  out.memory_footprint = n.memory.total;
  out.memory_utilization = n.memory.total / n.memory.capacity;
  out.feasible = n.memory.total <= n.memory.capacity;
  out.offload_spill_bytes = n.spilled;
  out.peak_flops_actual = device.compute.dense * device.efficiency.matrix;
  out.peak_bw_actual = device.memory.bandwidth * device.efficiency.memory;
}

}  // namespace

InferenceViews<> prepare_inference(const In& in, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  InferenceViews<> v;
  v.pricing = &pricing_for(in.fidelity, *in.workload, notes);
  const Phase phase = in.workload->is_language_decoder() ? Phase::decode : Phase::inference;
  v.model = v.pricing->model(*in.workload, phase, notes);
  set_storage(v.plan, inference_storage(precision, std::nullopt));
  // A model of which only the size is known has as many weights as fill it.
  if (!in.workload->parameters && in.workload->model_size && !v.model.structure.known)
    v.model.totals.params = *in.workload->model_size / v.plan.weight_bytes;
  v.device = v.pricing->device(*in.hardware, use_of(in, precision, Phase::inference, v.model), c, notes);
  v.links = links_view(*in.hardware, 1, c, notes, phase);
  v.plan.overlap = c.overlap;
  v.plan.steal = c.overlap_slowdown;
  set_limits(in, c, v, notes);
  v.batch = in.batch_size;
  v.seq_len = seq_len_or_default(in.seq_len, *in.workload, 0, notes);
  v.sequences = !is_listed(in.workload->architecture);
  warn_of_positions(*in.workload, v.seq_len, notes);
  return v;
}

SingleNodeModel::Result SingleNodeModel::solve(const Inputs& in, Notes& notes) const {
  Out out;
  if (in.is_training) {
    const auto v = prepare_step(in, notes);
    const auto n = training_numbers(v);
    fill(out, n, *v.pricing, v.device);
    out.latency = n.step_latency;
    out.hfu = n.hfu;
    out.throughput = in.batch_size * unit::sample / n.step_latency;
    if (in.hardware->power.tdp)
      out.energy = EnergyProportional::solve<double>({.tdp = v.device.power.tdp,
                                                      .utilization = n.utilization,
                                                      .time = n.step_latency,
                                                      .idle_fraction = v.device.conventions.idle_fraction})
                       .energy;
  } else {
    detail::warn_of_idle(in, {"zero_stage", "dp_size", "recomputation", "optimizer"}, "on inference", notes);
    const auto v = prepare_inference(in, notes);
    const auto n = inference_numbers(v);
    fill(out, n, *v.pricing, v.device);
    out.latency = n.latency;
    out.hfu = n.mfu;
    out.throughput = n.throughput;
    if (in.hardware->power.tdp) out.energy = n.energy_per_batch;
  }
  if (out.energy)
    notes.assume("idle_fraction", conventions_or_standard(in.conventions).idle_fraction, kDefaults);
  out.bottleneck = slowest(out);
  return out;
}

}  // namespace mlsysim
