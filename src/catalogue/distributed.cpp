#include "detail/training_plan.hpp"

#include <mlsysim/catalogue/core/replicas.hpp>
#include <mlsysim/catalogue/core/training.hpp>
#include <mlsysim/catalogue/textbook.hpp>

#include <algorithm>

namespace mlsysim {
namespace {

using In = DistributedModel::Inputs;
using Out = DistributedModel::Result;
using detail::Layout, detail::layout_of;

/// What the step takes longest for. The network is all links of a device, that to host memory too.
Bottleneck slowest(const Out& out) {
  const Time<> worst = max(max(out.latency_compute, out.latency_memory),
                           max(out.exposed_communication_latency, max(out.latency_overhead, out.pipeline_bubble_latency)));
  return worst == out.latency_compute                 ? Bottleneck::compute
         : worst == out.latency_memory                ? Bottleneck::memory
         : worst == out.exposed_communication_latency ? Bottleneck::network
                                                      : Bottleneck::overhead;
}

/// Of what a request asks for by its sizes; whoever prepares its views for something else wants to know as well.
void warn_of_sizes(const In& in, const Layout& layout, Notes& notes) {
  warn_of_positions(*in.workload, in.seq_len, notes);
  warn_of_uneven_batch(in.batch_size, layout.dp, notes);
}

/// The views of a layout that is known: finding it takes several passes over the list.
PassViews<> prepared(const In& in, const Layout& layout, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  warn_of_sizes(in, layout, notes);
  PassViews<> v = detail::training_views(in, *in.fleet->node->accelerator, layout, notes);
  set_matrix_share(v.device, in.efficiency);
  v.model.structure.prefetch = in.backward_prefetch;
  v.links = links_view(*in.fleet, c, notes);
  v.plan.overlap = in.overlap_efficiency.value_or(c.overlap);
  if (!in.overlap_efficiency) notes.assume("overlap_efficiency", c.overlap, "zoo/defaults.yaml");
  v.plan.steal = in.overlap_slowdown.value_or(c.overlap_slowdown);
  if (!in.overlap_slowdown) notes.assume("overlap_slowdown", c.overlap_slowdown, "zoo/defaults.yaml");
  v.plan.tp_overlap = in.tp_overlap;
  return v;
}

Out operators(const In& in, const Layout& layout, Notes& notes) {
  detail::warn_of_idle_parts(in, layout, notes);
  const auto v = prepared(in, layout, notes);
  OpList<> ops;
  const auto answer = training_core(v.model, v.plan, v.device, v.links, layout.devices, in.batch_size, ops);
  const auto& step = answer.step;

  Out out;
  out.fidelity = Fidelity::operator_level;
  // Congestion slows the exchange over the replicas, a straggler everything.
  const Time<> congestion = step.exchange * (in.congestion_factor - 1);
  out.step_latency_total = step.total * in.straggler_factor + congestion;
  const double slower = step.total / out.step_latency_total;
  out.latency_compute = answer.latency_compute;
  out.latency_memory = answer.latency_memory;
  out.latency_overhead = answer.latency_overhead;
  out.dp_communication_latency = step.exchange + congestion;
  out.tp_communication_latency = step.tensor_parallel;
  out.ep_communication_latency = step.expert_parallel;
  out.cp_communication_latency = step.context_parallel;
  out.pp_communication_latency = step.pipeline_parallel;
  out.host_transfer_latency = step.host_transfer;
  out.communication_latency = answer.communication + congestion;
  out.exposed_communication_latency = answer.exposed_communication + congestion;
  out.pipeline_bubble_latency = step.bubble;
  out.bubble_fraction = step.bubble / (step.bubble + step.slots);
  out.scaling_efficiency = answer.scaling_efficiency * slower;
  out.mfu = answer.mfu * slower;
  out.hfu = answer.hfu * slower;
  out.utilization = answer.utilization * slower * share_batch(in.batch_size, layout.dp).working;
  out.memory = step.memory;
  out.bottleneck = slowest(out);
  out.microbatch_count = v.plan.microbatches;
  return out;
}

Out textbook(const In& in, const Layout& layout, Precision precision, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  detail::warn_of_unpriced_plan(in, notes);
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
  out.exposed_communication_latency = step.data_parallel * (1.0 - v.overlap) + step.tensor_parallel + step.expert_parallel;
  out.pipeline_bubble_latency = step.bubble;
  out.bubble_fraction = BubbleFraction::solve<double>({in.pp_size, v.microbatches, in.v_stages}).bubble_fraction;
  out.scaling_efficiency = step.node / step.total;
  const auto forwards = detail::textbook_forwards(in.recomputation, in.trainable_fraction);
  const Work<> hardware_work = v.work * in.batch_size;
  out.hfu = std::min(1.0, hardware_work / (v.peak * layout.devices * step.total));
  out.mfu = out.hfu * (forwards.model / forwards.hardware);
  out.utilization = out.hfu;
  out.bottleneck = out.exposed_communication_latency > step.node              ? Bottleneck::network
                   : step.overhead > step.node / 2  ? Bottleneck::overhead
                   : step.memory > step.compute     ? Bottleneck::memory
                                                    : Bottleneck::compute;
  const TextbookTotals t = textbook_totals(*in.workload, notes);
  out.memory = textbook_training_memory(
      *in.workload, t,
      {.tp = in.tp_size, .pp = in.pp_size, .dp = layout.dp, .ep = in.ep_size, .microbatch = layout.microbatch,
       .in_flight = std::min(in.pp_size, v.microbatches), .seq_len = in.seq_len, .trainable = in.trainable_fraction,
       .zero_stage = static_cast<int>(in.zero_stage), .recomputation = in.recomputation,
       .sequence_parallel = in.sequence_parallel},
      *in.fleet->node->accelerator, precision, in.optimizer, c.gradient_bucket);
  out.microbatch_count = v.microbatches;
  return out;
}

}  // namespace

PassViews<> prepare_distributed(const In& in, Notes& notes) {
  Notes quiet;
  return prepared(in, layout_of(in, Fidelity::operator_level, quiet), notes);
}

TextbookStepViews<> prepare_textbook_distributed(const In& in, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const HardwareNode& hardware = *in.fleet->node->accelerator;
  const Precision precision = precision_or_default(in.precision, hardware, notes);
  Notes quiet;
  const Layout layout = layout_of(in, Fidelity::textbook, quiet);
  warn_of_sizes(in, layout, notes);
  const TextbookTotals t = textbook_totals(*in.workload, notes);
  const bool language = t.hidden > 0 && in.workload->inference.per == WorkUnit::token;
  if (!in.efficiency) notes.assume("efficiency", c.textbook_efficiency, "zoo/defaults.yaml");
  const double b = bytes_per_element(precision);

  TextbookStepViews<> v;
  v.work = detail::textbook_forwards(in.recomputation, in.trainable_fraction).hardware * t.work * (language ? in.seq_len : 1.0);
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
  v.microbatches = layout.microbatches;
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
  const Layout layout = layout_of(in, fidelity, notes);
  Result out = fidelity == Fidelity::textbook ? textbook(in, layout, precision, notes) : operators(in, layout, notes);
  out.tp_size = in.tp_size;
  out.pp_size = in.pp_size;
  out.ep_size = in.ep_size;
  out.cp_size = in.cp_size;
  out.microbatch_size = layout.microbatch;
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

}  // namespace mlsysim
