#include <mlsysim/catalogue/models/distributed.hpp>
#include <mlsysim/catalogue/models/training_memory.hpp>
#include <mlsysim/catalogue/prepare.hpp>
#include <mlsysim/catalogue/textbook.hpp>
#include <mlsysim/physics/utilisation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

using In = DistributedModel::Inputs;
using Out = DistributedModel::Result;

/// Degrees and batches of a request, checked against the fleet.
struct Layout {
  double devices, dp, local_batch, micro_batches, micro_batch;
};

Layout layout_of(const In& in, Fidelity fidelity, Notes& notes) {
  const double devices = in.fleet->total_accelerators();
  const double replica = in.tp_size * in.pp_size * in.ep_size;
  if (replica > devices || std::fmod(devices, replica) != 0) {
    throw DomainError(
        {.id = "mlsysim.catalogue.030",
         .message = "the parallel degrees do not fit the fleet",
         .key = "tp_size, pp_size, ep_size",
         .found = fmt::format("tp {} x pp {} x ep {} = {} devices per replica on {} accelerators", in.tp_size, in.pp_size,
                              in.ep_size, replica, devices),
         .expected = "a product that divides the accelerators",
         .hint = replica > devices ? "lower a degree or use a larger fleet"
                                   : fmt::format("use a product that divides {}", devices)});
  }
  Layout l{};
  l.devices = devices;
  l.dp = devices / replica;
  if (in.batch_size < l.dp)
    notes.warn([&] {
      return fmt::format("the global batch of {} is smaller than the {} replicas: {} of them idle", in.batch_size, l.dp,
                         l.dp - in.batch_size);
    });
  // Every replica that works has at least one sequence; a remainder makes some replicas slower than others.
  l.local_batch = std::max(1.0, std::ceil(in.batch_size / l.dp));
  const double by_default = fidelity == Fidelity::textbook
                                ? 1.0
                                : std::max(1.0, std::floor(l.local_batch / in.gradient_accumulation_steps));
  const double count = in.microbatch_count.value_or(by_default);
  if (!in.microbatch_count) notes.assume("microbatch_count", count, "micro-batches of one sequence (operator), one (textbook)");
  l.micro_batches = std::min(count * in.gradient_accumulation_steps, l.local_batch);
  l.micro_batch = std::ceil(l.local_batch / l.micro_batches);
  return l;
}

/// Model arithmetic of one step of the whole fleet: forward and twice that backward.
template <class Forward>
Work<> model_work(const Forward& forward_per_sequence, double sequences) {
  return 3.0 * forward_per_sequence * sequences;
}

Out operators(const In& in, Notes& notes) {
  const Layout layout = layout_of(in, Fidelity::operator_level, notes);
  const auto v = prepare_distributed(in, notes);
  OpList<> ops;
  const auto step = step_time(v.model, v.plan, v.device, v.links, ops);

  Out out;
  out.fidelity = Fidelity::operator_level;
  const double m = v.plan.microbatches;
  const PassCost<> passes = step.stage.forward + step.stage.recompute + step.stage.backward;
  out.step_latency_total = step.total * in.straggler_factor + step.exchange * (in.congestion_factor - 1);
  out.latency_compute = passes.compute_bound * m;
  out.latency_memory = passes.memory_bound * m + step.stage.update.memory_bound;
  out.latency_overhead = passes.overhead * m + v.device.dispatch;
  out.dp_communication_latency = step.exchange * in.congestion_factor;
  out.tp_communication_latency = step.tensor_parallel;
  out.communication_latency = out.dp_communication_latency + out.tp_communication_latency;
  out.pipeline_bubble_latency = step.bubble;
  out.bubble_fraction = step.bubble / (step.bubble + step.slots);
  const Time<> kernels = (passes.total - passes.network) * m;
  out.scaling_efficiency = kernels / out.step_latency_total;

  // The model's own arithmetic, counted once over the undivided model.
  Plan<> whole = v.plan;
  whole.tp = whole.pp = whole.ep = whole.dp = 1;
  whole.batch = 1;
  const auto range = lower(v.model.structure, v.model.shape, v.model.layers, whole, ops);
  const Work<> work = model_work(totals_of(ops, range.forward_end).work, in.batch_size);
  const ComputeRate<> peak = v.device.matrix_rate;
  out.mfu = std::min(1.0, work / (peak * layout.devices * out.step_latency_total));
  const double again = passes.work / (step.stage.forward.work + step.stage.backward.work);
  out.hfu = std::min(1.0, out.mfu * std::max(1.0, again));
  out.utilization = std::min(1.0, out.scaling_efficiency);  // kernels draw full power, waiting draws idle power
  out.memory = step.memory;

  const Time<> network = out.tp_communication_latency + (step.update - step.stage.update.memory_bound);
  const Time<> worst = max(max(out.latency_compute, out.latency_memory), max(network, out.latency_overhead));
  out.bottleneck = worst == out.latency_compute  ? Bottleneck::compute
                   : worst == out.latency_memory ? Bottleneck::memory
                   : worst == network            ? Bottleneck::network
                                                 : Bottleneck::overhead;
  out.microbatch_count = m;
  return out;
}

Out textbook(const In& in, Precision precision, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const Layout layout = layout_of(in, Fidelity::textbook, notes);
  const auto v = prepare_textbook_distributed(in, notes);
  const auto step = textbook_step_core(v);
  Out out;
  out.fidelity = Fidelity::textbook;
  out.step_latency_total = step.total;
  out.latency_compute = step.compute;
  out.latency_memory = step.memory;
  out.latency_overhead = step.overhead;
  out.dp_communication_latency = step.data_parallel;
  out.tp_communication_latency = step.tensor_parallel;
  out.ep_communication_latency = step.expert_parallel;
  out.communication_latency = step.data_parallel + step.tensor_parallel + step.expert_parallel;
  out.pipeline_bubble_latency = step.bubble;
  out.bubble_fraction = BubbleFraction::solve<double>({in.pp_size, v.microbatches, in.v_stages}).bubble_fraction;
  out.scaling_efficiency = step.node / step.total;
  const double again = in.recomputation == Recomputation::full ? 4.0 / 3.0 : 1.0;
  const Work<> hardware_work = v.work * in.batch_size;
  out.hfu = std::min(1.0, hardware_work / (v.peak * layout.devices * step.total));
  out.mfu = out.hfu / again;
  out.utilization = out.hfu;
  const Time<> exposed = step.data_parallel * (1.0 - v.overlap) + step.tensor_parallel + step.expert_parallel;
  out.bottleneck = exposed > step.node              ? Bottleneck::network
                   : step.overhead > step.node / 2  ? Bottleneck::overhead
                   : step.memory > step.compute     ? Bottleneck::memory
                                                    : Bottleneck::compute;
  const TextbookTotals t = textbook_totals(*in.workload, notes);
  out.memory = textbook_training_memory(
      *in.workload, t,
      {.tp = in.tp_size, .pp = in.pp_size, .dp = layout.dp, .ep = in.ep_size, .microbatch = layout.micro_batch,
       .in_flight = std::min(in.pp_size, v.microbatches), .seq_len = in.seq_len, .trainable = in.trainable_fraction,
       .zero_stage = static_cast<int>(in.zero_stage), .recomputation = in.recomputation,
       .sequence_parallel = in.sequence_parallel},
      *in.fleet->node->accelerator, precision, in.optimizer, c.gradient_bucket);
  out.microbatch_count = v.microbatches;
  return out;
}

}  // namespace

PassViews<> prepare_distributed(const In& in, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const HardwareNode& hardware = *in.fleet->node->accelerator;
  const Precision precision = precision_or_default(in.precision, hardware, notes);
  Notes quiet;
  const Layout layout = layout_of(in, Fidelity::operator_level, quiet);
  PassViews<> v;
  v.model = model_view(*in.workload, Phase::training);
  auto& s = v.model.structure;
  s.recomputation = in.recomputation;
  s.zero_stage = static_cast<int>(in.zero_stage);
  s.sequence_parallel = in.sequence_parallel && in.tp_size > 1;
  v.device = device_view(hardware, precision, c, notes);
  if (in.efficiency) v.device.matrix_share = *in.efficiency;
  v.links = links_view(*in.fleet, c, notes);
  v.plan.tp = in.tp_size;
  v.plan.pp = in.pp_size;
  v.plan.ep = in.ep_size;
  v.plan.dp = layout.dp;
  v.plan.virtual_stages = in.v_stages;
  v.plan.batch = layout.micro_batch;
  v.plan.microbatches = layout.micro_batches;
  v.plan.new_tokens = v.plan.context = in.workload->architecture == Architecture::cnn ? 1 : in.seq_len;
  v.plan.trainable = in.trainable_fraction;
  v.plan.overlap = in.overlap_efficiency.value_or(c.overlap);
  if (!in.overlap_efficiency) notes.assume("overlap_efficiency", c.overlap, "zoo/defaults.yaml");
  set_storage(v.plan, training_storage(precision, in.optimizer));
  return v;
}

TextbookStepViews<> prepare_textbook_distributed(const In& in, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const HardwareNode& hardware = *in.fleet->node->accelerator;
  const Precision precision = precision_or_default(in.precision, hardware, notes);
  Notes quiet;
  const Layout layout = layout_of(in, Fidelity::textbook, quiet);
  const TextbookTotals t = textbook_totals(*in.workload, notes);
  const bool language = t.hidden > 0 && in.workload->inference.per == WorkUnit::token;
  if (!in.efficiency) notes.assume("efficiency", c.textbook_efficiency, "zoo/defaults.yaml");
  const double again = in.recomputation == Recomputation::full ? 4.0 / 3.0 : 1.0;
  const double b = bytes_per_element(precision);

  TextbookStepViews<> v;
  v.work = 3.0 * again * t.work * (language ? in.seq_len : 1.0);
  v.weights = t.params * (b * unit::B / unit::param);
  v.gradients = v.weights * in.trainable_fraction;
  v.activation = layout.local_batch * in.seq_len * t.hidden * b * unit::B;
  v.peak = rate_at(hardware, precision);
  v.bandwidth = memory_level(hardware, v.weights).bandwidth;
  v.dispatch = hardware.dispatch_overhead.value_or(c.dispatch_overhead);
  v.layer_overhead = c.textbook_layer_overhead;
  v.efficiency = in.efficiency.value_or(c.textbook_efficiency);
  v.activation_share = c.textbook_activation_share;
  v.layers = t.layers;
  if (in.workload->is_moe()) {
    v.moe_layers = t.layers - in.workload->moe.dense_layers.value_or(0);
    v.top_k = in.workload->moe.top_k.value_or(1);
  }
  v.tp = in.tp_size;
  v.pp = in.pp_size;
  v.ep = in.ep_size;
  v.dp = layout.dp;
  v.microbatches = layout.micro_batches;
  v.virtual_stages = in.v_stages;
  v.local_batch = layout.local_batch;
  v.overlap = in.overlap_efficiency.value_or(0);
  v.congestion = in.congestion_factor;
  v.straggler = in.straggler_factor;
  v.links = links_view(*in.fleet, c, notes);
  // The textbook gives every device one port of the fabric, at the data-sheet rate.
  v.links.share = 1;
  if (in.fleet->fabric != nullptr && in.fleet->fabric->bandwidth)
    v.links.inter_bandwidth = *in.fleet->fabric->bandwidth / in.fleet->fabric->oversubscription;
  return v;
}

DistributedModel::Result DistributedModel::solve(const Inputs& in, Notes& notes) const {
  const Precision precision = precision_or_default(in.precision, *in.fleet->node->accelerator, notes);
  const Fidelity fidelity = fidelity_or_default(in.fidelity, *in.workload, notes);
  Result out = fidelity == Fidelity::textbook ? textbook(in, precision, notes) : operators(in, notes);
  Notes quiet;
  const Layout layout = layout_of(in, fidelity, quiet);
  out.tp_size = in.tp_size;
  out.pp_size = in.pp_size;
  out.ep_size = in.ep_size;
  out.dp_size = layout.dp;
  out.accelerators = layout.devices;
  out.effective_throughput = in.batch_size * unit::sample / out.step_latency_total;
  if (in.workload->shape.hidden)
    out.token_throughput = in.batch_size * in.seq_len * unit::token / out.step_latency_total;
  out.memory_footprint = out.memory.total;
  out.memory_utilization = out.memory.total / out.memory.capacity;
  out.feasible = out.memory.total <= out.memory.capacity;
  if (!out.feasible) out.bottleneck = Bottleneck::capacity;
  return out;
}

TrainingMemoryModel::Result TrainingMemoryModel::solve(const Inputs& in, Notes& notes) const {
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  Result out;
  out.fidelity = fidelity_or_default(in.fidelity, *in.workload, notes);
  out.microbatch_size = std::max(1.0, std::ceil(in.batch_size / (in.dp_size * in.gradient_accumulation_steps)));
  if (out.fidelity == Fidelity::textbook) {
    const TextbookTotals t = textbook_totals(*in.workload, notes);
    out.memory = textbook_training_memory(
        *in.workload, t,
        {.tp = in.tp_size, .pp = in.pp_size, .dp = in.dp_size, .ep = in.ep_size, .microbatch = out.microbatch_size,
         .seq_len = in.seq_len, .trainable = in.trainable_fraction, .zero_stage = static_cast<int>(in.zero_stage),
         .recomputation = in.recomputation, .sequence_parallel = in.sequence_parallel},
        *in.hardware, precision, in.optimizer, c.gradient_bucket);
  } else {
    // The same list and plan as a step of a fleet that has just these devices.
    PassViews<> v;
    v.model = model_view(*in.workload, Phase::training);
    v.model.structure.recomputation = in.recomputation;
    v.model.structure.zero_stage = static_cast<int>(in.zero_stage);
    v.model.structure.sequence_parallel = in.sequence_parallel && in.tp_size > 1;
    v.device = device_view(*in.hardware, precision, c, notes);
    v.links = links_view(*in.hardware, in.tp_size * in.pp_size * in.dp_size * in.ep_size, c, notes);
    v.plan.tp = in.tp_size;
    v.plan.pp = in.pp_size;
    v.plan.dp = in.dp_size;
    v.plan.ep = in.ep_size;
    v.plan.batch = out.microbatch_size;
    v.plan.microbatches = in.gradient_accumulation_steps;
    v.plan.new_tokens = v.plan.context = in.workload->architecture == Architecture::cnn ? 1 : in.seq_len;
    v.plan.trainable = in.trainable_fraction;
    set_storage(v.plan, training_storage(precision, in.optimizer));
    OpList<> ops;
    out.memory = step_time(v.model, v.plan, v.device, v.links, ops).memory;
  }
  out.total_memory = out.memory.total;
  out.available_memory = out.memory.capacity;
  out.memory_utilization = out.memory.total / out.memory.capacity;
  out.feasible = out.memory.total <= out.memory.capacity;
  return out;
}

}  // namespace mlsysim
