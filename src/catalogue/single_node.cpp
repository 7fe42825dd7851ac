#include "detail/unpriced.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/core/spill.hpp>
#include <mlsysim/catalogue/models/single_node.hpp>
#include <mlsysim/catalogue/prepare.hpp>
#include <mlsysim/catalogue/textbook.hpp>
#include <mlsysim/physics/energy.hpp>
#include <mlsysim/physics/textbook.hpp>
#include <mlsysim/physics/utilisation.hpp>

#include <algorithm>

namespace mlsysim {
namespace {

using In = SingleNodeModel::Inputs;
using Out = SingleNodeModel::Result;

/// Memory, energy and rates that both fidelities report the same way.
void finish(Out& out, const In& in, const MemoryBreakdown<>& memory, Work<> model_work, Work<> hardware_work,
            ComputeRate<> peak, const std::optional<double>& busy, const Conventions& c) {
  out.memory = memory;
  out.memory_footprint = memory.total;
  out.memory_utilization = memory.total / memory.capacity;
  out.feasible = memory.total <= memory.capacity;
  out.throughput = in.batch_size * unit::sample / out.latency;
  out.mfu = std::min(1.0, ModelFlopsUtilisation::solve<double>({model_work, 1, peak, out.latency}).mfu);
  out.hfu = std::min(1.0, ModelFlopsUtilisation::solve<double>({hardware_work, 1, peak, out.latency}).mfu);
  out.utilization = busy ? std::min(1.0, *busy) : out.mfu;
  out.energy = EnergyProportional::solve<double>({.tdp = in.hardware->power.tdp.value_or(Power<>()),
                                                  .utilization = out.utilization,
                                                  .time = out.latency,
                                                  .idle_fraction = c.idle_fraction}).energy;
}

/// Extra time of bytes that do not fit and come over the host link instead of from memory.
Time<> textbook_spill_time(Data<> spill, Bandwidth<> host, Bandwidth<> memory) {
  return host < memory ? spill / host - spill / memory : Time<>();
}

Out textbook(const In& in, Precision precision, const Conventions& c, Notes& notes) {
  const HardwareNode& hw = *in.hardware;
  const TextbookTotals t = textbook_totals(*in.workload, notes);
  warn_of_positions(*in.workload, in.seq_len, notes);
  const bool transformer = t.hidden > 0;
  const double b = bytes_per_element(precision);
  if (!in.efficiency) notes.assume("efficiency", c.textbook_efficiency, "zoo/defaults.yaml");
  notes.assume("activation_share", c.textbook_activation_share, "zoo/defaults.yaml");
  notes.assume("layer_overhead", c.textbook_layer_overhead, "zoo/defaults.yaml");
  const double efficiency = in.efficiency.value_or(c.textbook_efficiency);
  const Data<> weights = in.workload->parameters || !in.workload->model_size ? t.params * (b * unit::B / unit::param)
                                                                             : *in.workload->model_size;
  MemoryBreakdown<> memory;
  Work<> work = t.work;
  double recompute = 1;
  if (in.is_training) {
    // Forward and twice that backward; a language model learns from every token of its sequences.
    const double tokens = transformer && in.workload->inference.per == WorkUnit::token ? in.seq_len : 1;
    work = 3.0 * t.work * tokens;
    if (in.recomputation == Recomputation::full) recompute = 4.0 / 3.0;
    memory = textbook_training_memory(*in.workload, t,
                                      {.dp = in.dp_size, .microbatch = in.batch_size, .seq_len = in.seq_len,
                                       .zero_stage = static_cast<int>(in.zero_stage), .recomputation = in.recomputation},
                                      hw, precision, in.optimizer, c.gradient_bucket);
  } else {
    memory.weights = memory.total = weights;
    memory.capacity = memory_level(hw, weights).capacity;
    if (in.workload->is_language_decoder() && in.workload->has_shape()) {
      memory.kv_cache = kv_cache_bytes(*in.workload, in.seq_len, in.batch_size, precision);
      memory.total += memory.kv_cache;
    }
  }
  const MemoryLevel level = memory_level(hw, weights);
  const Time<> dispatch = hw.dispatch_overhead.value_or(c.dispatch_overhead);
  const ComputeRate<> peak = rate_at(hw, precision);
  const auto pass = TextbookPass::solve<double>({.work = work * recompute,
                                                 .weights = weights,
                                                 .batch_size = in.batch_size,
                                                 .efficiency = efficiency,
                                                 .activation_share = c.textbook_activation_share,
                                                 .layers = t.layers,
                                                 .passes = in.is_training ? 3.0 : 1.0,
                                                 .peak = peak,
                                                 .bandwidth = level.bandwidth,
                                                 .layer_overhead = c.textbook_layer_overhead,
                                                 .dispatch = dispatch});
  Out out;
  out.fidelity = Fidelity::textbook;
  out.latency_compute = pass.latency_compute;
  out.latency_memory = pass.latency_memory;
  out.latency_overhead = pass.latency_overhead;
  out.peak_flops_actual = peak * efficiency;
  out.peak_bw_actual = level.bandwidth;
  if (memory.total > memory.capacity) {
    out.offload_spill_bytes = memory.total - memory.capacity;
    const Bandwidth<> host = hw.host_link.bandwidth.value_or(c.host_bandwidth);
    if (!hw.host_link.bandwidth) notes.assume("host_bandwidth", c.host_bandwidth, "zoo/defaults.yaml");
    out.latency_memory += textbook_spill_time(min(out.offload_spill_bytes, weights), host, level.bandwidth);
  }
  out.latency = max(out.latency_compute, out.latency_memory) + out.latency_overhead;
  out.bottleneck = out.latency_memory > out.latency_compute ? Bottleneck::memory : Bottleneck::compute;
  out.arithmetic_intensity = work * recompute * in.batch_size / pass.traffic;
  finish(out, in, memory, work * in.batch_size, work * recompute * in.batch_size, peak, std::nullopt, c);
  return out;
}

Out operators(const In& in, const Conventions& c, Notes& notes) {
  const auto [model, plan, device, links] = prepare_single_node(in, notes);
  OpList<> ops;
  Out out;
  out.fidelity = Fidelity::operator_level;
  PassCost<> cost;
  MemoryBreakdown<> memory;
  Work<> model_work;
  if (in.is_training) {
    const auto step = step_time(model, plan, device, links, ops);
    cost = step.stage.passes() + step.stage.update;
    memory = step.memory;
    out.latency = step.total;
    model_work = 3.0 * step.stage.forward.work;
  } else {
    const auto pass = pass_time(model, plan, device, links, ops);
    cost = pass.cost;
    memory = pass.memory;
    out.latency = pass.total;
    model_work = cost.work;
  }
  out.latency_compute = cost.compute_bound;
  out.latency_memory = cost.memory_bound;
  out.latency_overhead = cost.overhead + device.dispatch;
  out.bottleneck = out.latency_overhead > max(cost.compute_bound, cost.memory_bound) ? Bottleneck::overhead
                   : cost.memory_bound > cost.compute_bound                          ? Bottleneck::memory
                                                                                     : Bottleneck::compute;
  out.arithmetic_intensity = cost.work / cost.traffic;
  out.peak_flops_actual = device.matrix_rate * device.matrix_share;
  out.peak_bw_actual = device.memory_bandwidth * device.memory_share;
  if (memory.total > memory.capacity) {
    out.offload_spill_bytes = memory.total - memory.capacity;
    const Time<> extra = spill_time(memory, cost.traffic, out.latency, device);
    out.latency_memory += extra;
    out.latency += extra;
    out.bottleneck = Bottleneck::capacity;
  }
  // A device that runs kernels draws its full power, whichever side limits them.
  const double busy = (cost.compute_bound + cost.memory_bound) / out.latency;
  finish(out, in, memory, model_work, cost.work, device.matrix_rate, busy, c);
  return out;
}

}  // namespace

PassViews<> prepare_single_node(const In& in, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  warn_of_positions(*in.workload, in.seq_len, notes);
  const bool decoder = in.workload->is_language_decoder();
  const Phase phase = in.is_training ? Phase::training : decoder ? Phase::decode : Phase::inference;
  PassViews<> v;
  v.model = model_view(*in.workload, phase);
  v.model.structure.recomputed = parts_of(in.recomputation);
  v.model.structure.zero_stage = static_cast<int>(in.zero_stage);
  v.device = device_view(*in.hardware, precision, c, notes, phase);
  set_matrix_share(v.device, in.efficiency);
  v.links = links_view(*in.hardware, in.dp_size, c, notes, phase);
  v.plan.batch = in.batch_size;
  v.plan.dp = in.dp_size;
  v.plan.overlap = c.overlap;
  v.plan.steal = c.overlap_slowdown;
  v.plan.exchange_bucket = c.exchange_bucket;
  if (in.is_training && in.zero_stage < 3 && in.dp_size > 1) notes.assume("exchange_bucket", c.exchange_bucket, "zoo/defaults.yaml");
  const bool sequences = in.workload->architecture != Architecture::cnn;
  v.plan.context = sequences ? in.seq_len : 1;
  v.plan.new_tokens = phase == Phase::decode ? 1 : v.plan.context;
  set_storage(v.plan, in.is_training ? training_storage(precision, in.optimizer)
                                     : inference_storage(precision, std::nullopt));
  return v;
}

SingleNodeModel::Result SingleNodeModel::solve(const Inputs& in, Notes& notes) const {
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  if (!in.is_training)
    detail::warn_of_idle(in, {"zero_stage", "dp_size", "recomputation", "optimizer"}, "on inference", notes);
  return fidelity_or_default(in.fidelity, *in.workload, notes) == Fidelity::textbook
             ? textbook(in, precision, c, notes)
             : operators(in, c, notes);
}

}  // namespace mlsysim
