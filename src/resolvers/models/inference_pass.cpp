#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/physics/energy.hpp>
#include <mlsysim/physics/roofline.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/models/inference_pass.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/timing/pricing.hpp>

#include <algorithm>

namespace mlsysim {
namespace {

/// Largest working set of a convolutional network, from its operator list.
Data<> working_set(const Workload& w, double batch, double bytes) {
  if (!is_listed(w.architecture) || !w.has_shape()) return {};
  const auto view = model_view(w, Phase::inference);
  Plan<> plan;
  plan.batch = batch;
  plan.weight_bytes = bytes * unit::B / unit::param;
  plan.activation_bytes = bytes * unit::B;
  OpList<> ops;
  const auto range = lower(view.structure, view.shape(), view.layers, plan, ops);
  return totals_of(ops, range.forward_end).live;
}

}  // namespace

InferencePassModel::Result InferencePassModel::solve(const Inputs& in, Notes& notes) const {
  const Workload& w = *in.workload;
  const HardwareNode& hw = *in.hardware;
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, hw, notes);
  const double b = bytes_per_element(precision);
  const Totals<> t = totals_of(w, notes);
  const auto stored = b * unit::B / unit::param;
  const double efficiency = in.efficiency.value_or(c.textbook_efficiency);
  if (!in.efficiency) notes.assume("efficiency", efficiency, kDefaults);

  if (w.architecture != Architecture::diffusion)
    detail::warn_of_idle(in, {"denoising_steps"}, "on anything but a diffusion model", notes);

  Result r;
  r.weights = t.params * stored;
  if (w.architecture == Architecture::diffusion) {
    const double steps = in.denoising_steps ? *in.denoising_steps : w.diffusion.denoising_steps.value_or(1);
    r.evaluations = steps * w.diffusion.evaluations_per_step.value_or(1);
    if (!w.diffusion.evaluations_per_step) notes.assume("evaluations_per_step", 1.0, "without guidance");
  } else if (w.architecture == Architecture::ssm) {
    const auto* stack = w.main();
    const StateSpace block =
        stack == nullptr ? StateSpace() : stack->mixer.state_space.value_or(StateSpace());
    const double width = t.hidden * block.expand.value_or(2);
    if (!block.expand) notes.assume("expand", 2.0, "gu-2023-mamba");
    const double per_channel = block.state_size.value_or(16) + block.conv_width.value_or(4);
    r.state = t.layers * in.batch_size * width * per_channel * b * unit::B;
  } else if (w.architecture == Architecture::recommendation) {
    r.tables = t.tables * stored;
    r.weights = dense_weights(t, stored);
    r.rows_read = gathered_rows(t, stored, in.batch_size);
    if (t.table_rows <= 0)
      notes.warn("the rows that a sample reads are not known: tables cost capacity alone");
  }
  r.activations = working_set(w, in.batch_size, b);

  const Data<> resident = r.weights + r.tables;
  const Data<> working = r.state + r.activations;
  const MemoryLevel level = memory_level(hw, resident + working);  // on chip where all of it fits
  r.weights_in = level.name;
  const Data<> beside = r.state * 2.0 + r.rows_read;  // a state is read and written
  const auto roof = Roofline::solve<double>({.work = t.work * in.batch_size,
                                             .traffic = r.weights,
                                             .peak = rate_at(hw, precision) * efficiency,
                                             .bandwidth = level.bandwidth});
  const Bandwidth<> ram = hw.memory.bandwidth.value_or(level.bandwidth);
  r.latency_compute = roof.compute * r.evaluations;
  r.latency_memory = (roof.memory + beside / ram) * r.evaluations;
  const double layers = r.evaluations * t.layers;
  r.latency_overhead = needed<Time<>>("dispatch_overhead", hw, c, notes) * r.evaluations;
  if (hw.category != "tiny") {
    r.latency_overhead += c.textbook_layer_overhead * layers;
    notes.assume("layer_overhead", c.textbook_layer_overhead, kDefaults);
  }
  r.latency = max(r.latency_compute, r.latency_memory) + r.latency_overhead;
  r.bottleneck = r.latency_overhead > max(r.latency_compute, r.latency_memory) ? Bottleneck::overhead
                 : r.latency_memory > r.latency_compute                        ? Bottleneck::memory
                                                                               : Bottleneck::compute;
  r.throughput = in.batch_size * unit::sample / r.latency;
  r.memory_footprint = resident + working;
  if (hw.memory.flash_capacity && hw.memory.sram_capacity)
    r.feasible = resident <= *hw.memory.flash_capacity && working <= *hw.memory.sram_capacity;
  else
    r.feasible = r.memory_footprint <= level.capacity;
  if (!r.feasible)
    notes.warn("the model does not fit: use a narrower format, several devices, or a smaller model",
               BreakReason::infeasible_memory);
  const double busy = std::min(1.0, max(r.latency_compute, r.latency_memory) / r.latency);
  if (hw.power.tdp) {
    r.energy =
        EnergyProportional::solve<double>(
            {.tdp = *hw.power.tdp, .utilization = busy, .time = r.latency, .idle_fraction = c.idle_fraction})
            .energy;
    notes.assume("idle_fraction", c.idle_fraction, kDefaults);
  }
  return r;
}

}  // namespace mlsysim
