#include "resolvers/shared/figures.hpp"

#include <mlsysim/physics/batching.hpp>
#include <mlsysim/physics/routing.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/models/weight_streaming.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/timing/step.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

Bandwidth<> injection_of(const WeightStreamingModel::Inputs& in, Notes& notes) {
  if (in.injection_bandwidth) return *in.injection_bandwidth;
  if (in.hardware->host_link.bandwidth) return *in.hardware->host_link.bandwidth;
  if (in.hardware->device_link.bandwidth) return *in.hardware->device_link.bandwidth;
  return detail::figure<dim::bandwidth>("catalogue.streaming.link_fallback", notes);
}

/// A pass of a device whose weights come in layer by layer.
struct StreamUse {
  const Workload& workload;
  const HardwareNode& hardware;
  const Conventions& conventions;
  Precision precision;
  bool decodes;
  double batch, seq_len;
  std::optional<double> efficiency;
};

/// One of its layers, and what stays.
struct StreamNeeds {
  Data<> layer_weights, held;
  Work<> work_per_sample;  ///< of a layer
  double layers = 1, efficiency = 1;
};

/// Weights divided evenly over the layers, their arithmetic, and that of attention in a prefill.
StreamNeeds textbook_needs(const StreamUse& use, const Figures& figures) {
  Notes& notes = figures.notes();
  const Totals<> t = totals_of(use.workload, notes);
  const double heads = use.workload.kv_heads().value_or(t.heads), width = t.heads > 0 ? t.width / t.heads : 0;
  StreamNeeds n;
  n.layers = t.layers;
  const Params<> each = t.params / t.layers;
  n.layer_weights = each * (bytes_per_element(use.precision) * unit::B / unit::param);
  n.work_per_sample = each * (2.0 * unit::FLOP / unit::param);
  if (!use.decodes)
    n.work_per_sample =
        n.work_per_sample * use.seq_len + 2.0 * heads * use.seq_len * use.seq_len * width * unit::FLOP;
  n.efficiency = detail::textbook_efficiency(use.efficiency, use.conventions, notes);
  if (use.workload.has_shape())
    n.held = kv_cache_bytes(use.workload, use.seq_len, use.batch, use.precision) *
             (1.0 + figures.number("catalogue.streaming.activation_headroom"));
  else
    notes.warn("keys and values are not counted: the shape of the model is not known");
  return n;
}

/// Work and memory from the operator list. Of a mixture only the experts that the batch touches come in.
StreamNeeds operator_needs(const StreamUse& use, Notes& notes) {
  const auto model = model_view(use.workload, use.decodes ? Phase::decode : Phase::prefill);
  Plan<> plan;
  plan.batch = use.batch;
  plan.context = use.seq_len;
  plan.new_tokens = use.decodes ? 1 : use.seq_len;
  set_storage(plan, inference_storage(use.precision, std::nullopt));
  OpList<> ops;
  const auto totals = forward_totals(model.structure, model.shape(), model.layers, plan, ops).stage(1, 1);
  double share = 1;  // of the experts that come in
  if (use.workload.is_moe()) {
    const auto load = ExpertLoad::solve<double>(
        {model.shape().experts, std::max(1.0, model.shape().top_k), use.batch * plan.new_tokens});
    share = load.touched / model.shape().experts;
  }
  const Device<> device = device_view(use.hardware, use.precision, use.conventions, notes);
  StreamNeeds n;
  n.layers = std::max(1.0, model.shape().layers);
  n.layer_weights = plan.weight_bytes * (totals.dense_params + totals.expert_params * share) / n.layers;
  n.work_per_sample = totals.work / (n.layers * use.batch);
  n.efficiency = use.efficiency.value_or(device.efficiency.matrix);
  n.held = totals.state + totals.working_set + device.conventions.memory_reserve;
  return n;
}

}  // namespace

WeightStreamingModel::Result WeightStreamingModel::solve(const Inputs& in, Notes& notes) const {
  const Fidelity fidelity = fidelity_or_default(in.fidelity, *in.workload, notes);
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  if (!in.hardware->memory.capacity && !in.hardware->memory.sram_capacity)
    throw InputError(
        {.id = "mlsysim.catalogue.035",
         .message = fmt::format("'{}' has no memory for caches and activations", in.hardware->name),
         .key = "memory.capacity",
         .expected = "a memory or on-chip capacity",
         .hint = "give the device memory: {capacity: ...}",
         .reason = BreakReason::infeasible_memory});
  const double seq_len = seq_len_or_default(in.seq_len, *in.workload, 0, notes);
  const StreamUse use{.workload = *in.workload,
                      .hardware = *in.hardware,
                      .conventions = c,
                      .precision = precision,
                      .decodes = in.phase == StreamPhase::decode,
                      .batch = in.batch_size,
                      .seq_len = seq_len,
                      .efficiency = in.efficiency};
  const StreamNeeds needs = fidelity == Fidelity::textbook ? textbook_needs(use, detail::zoo_figures(notes))
                                                           : operator_needs(use, notes);
  const auto layer = WeightStreamLayer::solve<double>(
      {.layer_weights = needs.layer_weights,
       .bandwidth = injection_of(in, notes),
       .work_per_sample = needs.work_per_sample,
       .batch_size = in.batch_size,
       .peak = rate_at(*in.hardware, precision),
       .efficiency = needs.efficiency,
       .dispatch = needed<Time<>>("dispatch_overhead", *in.hardware, c, notes)});
  const Data<> capacity =
      in.hardware->memory.capacity ? *in.hardware->memory.capacity : *in.hardware->memory.sram_capacity;
  Result r;
  r.fidelity = fidelity;
  r.memory_utilization = needs.held / capacity;
  r.feasible = needs.held <= capacity;
  r.layer_compute_time = layer.compute;
  r.layer_injection_time = layer.injection;
  r.latency = layer.time * needs.layers;
  r.bottleneck = layer.compute >= layer.injection ? Bottleneck::compute : Bottleneck::network;
  r.optimal_batch_size = std::max(1.0, std::floor(layer.balance_batch));
  const double tokens = in.batch_size * (in.phase == StreamPhase::prefill ? seq_len : 1.0);
  if (r.feasible)
    r.token_throughput = tokens * unit::token / r.latency;
  else
    notes.warn("caches and activations do not fit on the device: use a smaller batch or shorter sequences",
               BreakReason::infeasible_memory);
  return r;
}

}  // namespace mlsysim
