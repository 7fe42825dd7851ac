#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/physics/energy.hpp>
#include <mlsysim/physics/roofline.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/detail/pass_times.hpp>
#include <mlsysim/resolvers/models/inference_pass.hpp>
#include <mlsysim/timing/detail/diffusion.hpp>
#include <mlsysim/timing/detail/loaded.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/timing/step.hpp>
#include <mlsysim/zoo/loader.hpp>

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
  return totals_of(ops, range.forward_end).working_set;
}

using Inputs = InferencePassModel::Inputs;
using Result = InferencePassModel::Result;

/// Runs of the denoiser, and of them those of one step.
double steps_of(const Inputs& in) {
  return in.denoising_steps ? *in.denoising_steps : in.workload->diffusion.denoising_steps.value_or(1);
}
double evaluations_of(const Workload& w, Notes& notes) {
  if (!w.diffusion.evaluations_per_step) notes.assume("evaluations_per_step", 1.0, "without guidance");
  return w.diffusion.evaluations_per_step.value_or(1);
}

/// Whether a diffusion model is a U-Net whose widths are known.
bool has_network(const Workload& w) {
  return w.architecture == Architecture::diffusion && w.outline.hidden && w.diffusion.blocks_per_level &&
         w.diffusion.resolution;
}
/// A U-Net as its paper has it, with the decoder of its latents and the text encoder of CLIP, which is as
/// wide as the text that the U-Net reads.
/// @cite rombach-2022-ldm, tables of hyperparameters
DiffusionNetwork network_of(const Workload& w) {
  constexpr double decoder_width = 128, encoder_layers = 12;
  const auto& d = w.diffusion;
  DiffusionNetwork n;
  n.height = *d.resolution;
  n.unet_width = *w.outline.hidden;
  n.unet_blocks = *d.blocks_per_level;
  n.context_width = d.context_width.value_or(n.context_width);
  n.cross_tokens = n.encoded_tokens = d.context_tokens.value_or(1);
  n.decoder_width = decoder_width;
  n.encoder_layers = encoder_layers;
  n.encoder_hidden = n.context_width;
  n.encoder_width = 8.0 / 3.0 * n.context_width;  // two matrices of four times the width
  return n;
}

/// A diffusion model as a pipeline of operators on one device.
Result pipeline_pass(const Inputs& in, Precision precision, const Conventions& c, Notes& notes) {
  const Workload& w = *in.workload;
  const HardwareNode& hw = *in.hardware;
  const ServingEngine* runtime = in.engine;
  if (runtime == nullptr) {
    runtime = &usual_engine(hw, &UsualRuntimes::diffuse);
    notes.assume("engine", runtime->name, "the usual runtime of diffusion models; name yours");
  }
  const DiffusionTask task{
      .outputs = in.batch_size, .steps = steps_of(in), .evaluations = evaluations_of(w, notes)};
  DiffusionPipeline pipeline(network_of(w), task, hw, runtime, precision, c, notes);
  set_matrix_share(pipeline.device, in.efficiency);
  const Device<>& d = pipeline.device;
  Result r;
  PassBreakdown<> sum;
  for (const auto& stage : pipeline.stages) {
    const auto cost = pipeline.cost(*stage);
    sum.add(cost, 1.0);
    r.latency += DiffusionPipeline::time(cost);
    for (const auto& op : stage->ops) r.activations = max(r.activations, op.working_set);
  }
  r.evaluations = task.steps * task.evaluations;
  r.latency_compute = sum.compute_bound;
  r.latency_memory = sum.memory_bound;
  r.latency_overhead = r.latency - sum.compute_bound - sum.memory_bound;
  r.bottleneck = r.latency_overhead > max(r.latency_compute, r.latency_memory) ? Bottleneck::overhead
                 : r.latency_memory > r.latency_compute                        ? Bottleneck::memory
                                                                               : Bottleneck::compute;
  r.throughput = in.batch_size * unit::sample / r.latency;
  r.peak_share = sum.work / (d.compute.dense * r.latency);
  r.weights = totals_of(w, notes).params * (bytes_per_element(precision) * unit::B / unit::param);
  r.memory_footprint = r.weights + r.activations;
  const MemoryLevel level = memory_level(hw, r.memory_footprint);
  r.weights_in = level.name;
  r.feasible = r.memory_footprint <= level.capacity;
  if (!r.feasible) notes.warn("the model does not fit on one device", BreakReason::infeasible_memory);
  r.load = std::min(1.0, detail::loaded(sum, d) / r.latency);
  if (hw.power.tdp)
    r.energy = EnergyProportional::solve<double>({.tdp = *hw.power.tdp,
                                                  .utilization = r.load,
                                                  .time = r.latency,
                                                  .idle_fraction = d.conventions.idle_fraction})
                   .energy;
  r.fidelity = Fidelity::operator_level;
  return r;
}

/// The states of a step of a model of state spaces. @param elements bytes of an element, of all sequences
Data<> state_of(const Workload& w, const Totals<>& t, double elements, Notes& notes) {
  const auto* stack = w.main();
  const StateSpace block = stack == nullptr ? StateSpace() : stack->mixer.state_space.value_or(StateSpace());
  const double width = t.hidden * block.expand.value_or(2);
  if (!block.expand) notes.assume("expand", 2.0, "gu-2023-mamba");
  const double per_channel = block.state_size.value_or(16) + block.conv_width.value_or(4);
  notes.warn([&] {
    return "no rule is known for the state spaces of '" + w.name +
           "': this is a step of one token of each sequence, and no prompt";
  });
  return t.layers * width * per_channel * elements * unit::B;
}

}  // namespace

InferencePassModel::Result InferencePassModel::solve(const Inputs& in, Notes& notes) const {
  const Workload& w = *in.workload;
  const HardwareNode& hw = *in.hardware;
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, hw, notes);
  if (has_network(w) && in.fidelity != Fidelity::textbook) return pipeline_pass(in, precision, c, notes);
  detail::warn_of_idle(in, {"engine"}, "on a roofline of totals", notes);
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
    r.evaluations = steps_of(in) * evaluations_of(w, notes);
  } else if (w.architecture == Architecture::ssm) {
    r.state = state_of(w, t, in.batch_size * b, notes);
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
  r.peak_share = std::min(1.0, efficiency * (r.latency_compute / r.latency));
  r.memory_footprint = resident + working;
  if (hw.memory.flash_capacity && hw.memory.sram_capacity)
    r.feasible = resident <= *hw.memory.flash_capacity && working <= *hw.memory.sram_capacity;
  else
    r.feasible = r.memory_footprint <= level.capacity;
  if (!r.feasible)
    notes.warn("the model does not fit: use a narrower format, several devices, or a smaller model",
               BreakReason::infeasible_memory);
  r.load = std::min(1.0, max(r.latency_compute, r.latency_memory) / r.latency);
  if (hw.power.tdp) {
    r.energy = EnergyProportional::solve<double>({.tdp = *hw.power.tdp,
                                                  .utilization = r.load,
                                                  .time = r.latency,
                                                  .idle_fraction = c.idle_fraction})
                   .energy;
    notes.assume("idle_fraction", c.idle_fraction, kDefaults);
  }
  return r;
}

}  // namespace mlsysim
