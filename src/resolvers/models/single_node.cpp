#include "resolvers/shared/calls.hpp"
#include "resolvers/shared/power_limits.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/estimate/memory_account.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/resolvers/machine.hpp>
#include <mlsysim/timing/stored_formats.hpp>

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
          .execution = execution_of(in.execution, in.engine)};
}

/// Limits of power and clock, which the plan and the structure of a pass hold.
template <class Problem> void set_limits(const In& in, const Conventions& c, Problem& v, Notes& notes) {
  if (!v.fidelity_model->lists_operators())
    detail::warn_of_unpriced(in, {"power_cap", "clock_limit", "execution"}, notes);
  else
    v.model.structure.capped =
        detail::set_power_limits(v.plan, in.power_cap, in.clock_limit, *in.hardware, c, notes);
}

}  // namespace

TrainingProblem<> settle_step(const In& in, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  detail::warn_of_idle(in, {"engine"}, "on a training step", notes);
  TrainingProblem<> v;
  v.fidelity_model = &fidelity_model_for(in.fidelity, *in.workload, notes);
  v.model = v.fidelity_model->model(*in.workload, Phase::training, notes);
  v.model.structure.recomputed = parts_of(in.recomputation);
  v.model.structure.zero_stage = static_cast<int>(in.zero_stage);
  v.device =
      v.fidelity_model->device(*in.hardware, use_of(in, precision, Phase::training, v.model), c, notes);
  if (v.fidelity_model->lists_operators()) set_recurrences(v.device, v.model, *in.hardware, c, notes);
  v.links = shipped_links(*v.fidelity_model, *in.hardware, in.dp_size, c, notes, Phase::training);
  v.fidelity_model->set_overlap(v.plan, std::nullopt, std::nullopt, c, notes);
  v.plan.exchange_bucket = c.exchange_bucket;
  if (in.zero_stage < 3 && in.dp_size > 1) notes.assume("exchange_bucket", c.exchange_bucket, kDefaults);
  set_storage(v.plan, v.fidelity_model->training_storage(precision, in.optimizer));
  v.plan.tower_bytes = tower_weights({.model = in.workload});
  v.plan.trainable = in.trainable_fraction;
  detail::warn_of_idle(in, {"weight_format"}, "on a training step, whose states the precision decides",
                       notes);
  if (in.optimizer == OptimizerKind::muon && v.fidelity_model->lists_operators())
    v.model.structure.update = WeightUpdate::orthogonal;
  set_limits(in, c, v, notes);
  v.batch_size = in.batch_size * in.dp_size;
  v.accelerators = in.dp_size;
  v.seq_len = seq_len_or_default(in.seq_len, *in.workload, 0, notes);
  v.sequences = !is_listed(in.workload->architecture);
  v.division = Microbatches::counted;
  v.spills = true;
  warn_of_positions(*in.workload, v.seq_len, 0, notes);
  return v;
}

InferenceProblem<> settle_inference(const In& in, Notes& notes, double devices) {
  const Conventions c = with_kernels(conventions_or_standard(in.conventions), in.engine);
  const bool stores = in.weight_format && in.workload->main() != nullptr;
  if (in.weight_format && !stores)
    notes.remark("no effect on a model without layers of a transformer: weight_format");
  const auto stored =
      stores ? std::optional(served_format(*in.workload,
                                           {.precision = in.precision, .weight_format = in.weight_format},
                                           *in.hardware, nullptr, notes))
             : std::nullopt;
  const Precision precision =
      stored ? stored->precision : precision_or_default(in.precision, *in.hardware, notes);
  detail::warn_of_idle(in, {"trainable_fraction"}, "on a pass that trains nothing", notes);
  InferenceProblem<> v;
  v.fidelity_model = &fidelity_model_for(in.fidelity, *in.workload, notes);
  const Phase phase = in.workload->is_language_decoder() ? Phase::decode : Phase::inference;
  v.model = v.fidelity_model->model(*in.workload, phase, notes);
  set_storage(v.plan, inference_storage(precision, std::nullopt));
  v.plan.tower_bytes = tower_weights({.model = in.workload,
                                      .device = in.hardware,
                                      .precision = in.precision,
                                      .weight_format = in.weight_format});
  if (stored && stored->apart) {
    auto& s = v.model.structure;
    set_stored(*stored, v.fidelity_model->lists_operators() && s.known, v.plan, s);
    s.widened = stored->whole < bytes_per_element(precision) * (unit::B / unit::param);
  }
  v.plan.routing_spread = c.routing_spread;
  if (v.model.structure.moe) notes.assume("routing_spread", c.routing_spread, kDefaults);
  // A model of which only the size is known has as many weights as fill it.
  if (!in.workload->parameters && in.workload->model_size && !v.model.structure.known)
    v.model.totals.params = *in.workload->model_size / v.plan.weight_bytes;
  v.device =
      v.fidelity_model->device(*in.hardware, use_of(in, precision, Phase::inference, v.model), c, notes);
  set_software(v.device, in.engine, *in.hardware, precision, v.model, c, notes);
  detail::set_calls(in.execution, in.engine, v.device, notes);
  if (!in.efficiency) set_products(v.device, in.engine, *in.hardware, precision, c, notes);
  if (v.fidelity_model->lists_operators()) set_recurrences(v.device, v.model, *in.hardware, c, notes);
  set_operators(in.engine, v.model.structure, v.plan, notes);
  if (v.device.software != nullptr)
    // Norms and activations of convolutions are operators of their own; elsewhere the list of launches says.
    v.model.structure.fused = v.model.structure.architecture != Architecture::cnn;
  else if (in.engine != nullptr && !stated(*in.engine, &ServingEngine::form))
    detail::warn_of_idle(in, {"engine"}, "on a single pass: it states nothing of one", notes);
  v.links = links_view(*in.hardware, 1, c, notes, phase);
  v.plan.overlap = c.overlap;
  v.plan.overlap_slowdown = c.overlap_slowdown;
  set_limits(in, c, v, notes);
  v.batch_size = in.batch_size;
  v.accelerators = devices;
  v.seq_len = seq_len_or_default(in.seq_len, *in.workload, 0, notes);
  v.sequences = !is_listed(in.workload->architecture);
  warn_of_positions(*in.workload, v.seq_len, 0, notes);
  return v;
}

namespace {

/// A training step of one device in the words of a pass.
Out as_pass(const TrainingEstimate<>& n, double batch_size) {
  Out out;
  out.latency = n.step_latency;
  out.latency_compute = n.latency_compute;
  out.latency_memory = n.latency_memory;
  out.latency_network = n.exposed_communication_latency;
  out.latency_overhead = n.latency_overhead;
  out.throughput = batch_size * unit::sample / n.step_latency;
  out.arithmetic_intensity = n.arithmetic_intensity;
  out.mfu = n.mfu;
  out.hfu = n.hfu;
  out.utilization = out.device_utilization = n.utilization;
  out.offload_spill_bytes = n.offload_spill_bytes;
  out.memory = n.memory;
  return out;
}

/// Fills the results beside the estimate: footprint, peak rates, bottleneck and energy.
template <class Problem> void complete(const In& in, const Problem& problem, Out& out, Notes& notes) {
  const Device<>& device = problem.device;
  out.fidelity = problem.fidelity_model->fidelity();
  out.memory_footprint = out.memory.total;
  out.memory_utilization = out.memory.total / out.memory.capacity;
  out.feasible = out.memory.total <= out.memory.capacity;
  out.peak_flops_actual = device.compute.dense * device.efficiency.matrix;
  out.peak_bw_actual = device.memory.bandwidth * device.efficiency.memory;
  out.bottleneck = slowest(out);
  if (!in.hardware->power.tdp) return;
  out.energy = energy_of_batch(device, out.device_utilization, out.latency);
  if (!in.hardware->power.idle || out.fidelity == Fidelity::textbook)
    notes.assume("idle_fraction", device.conventions.idle_fraction, kDefaults);
}

}  // namespace

SingleNodeModel::Result SingleNodeModel::solve(const Inputs& in, Notes& notes) const {
  Out out;
  if (in.is_training) {
    const auto problem = settle_step(in, notes);
    out = as_pass(evaluate(problem), in.batch_size);
    complete(in, problem, out, notes);
  } else {
    detail::warn_of_idle(in, {"zero_stage", "dp_size", "recomputation", "optimizer"}, "on inference", notes);
    const auto problem = settle_inference(in, notes);
    out = Out{evaluate(problem)};
    out.hfu = out.mfu;
    complete(in, problem, out, notes);
  }
  return out;
}

}  // namespace mlsysim
