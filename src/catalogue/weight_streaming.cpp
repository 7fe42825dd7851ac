#include "detail/figures.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/weight_streaming.hpp>
#include <mlsysim/price/views.hpp>
#include <mlsysim/physics/batching.hpp>
#include <mlsysim/physics/routing.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

using In = WeightStreamingModel::Inputs;

Bandwidth<> injection_of(const In& in, Notes& notes) {
  if (in.injection_bandwidth) return *in.injection_bandwidth;
  if (in.hardware->host_link.bandwidth) return *in.hardware->host_link.bandwidth;
  if (in.hardware->device_link.bandwidth) return *in.hardware->device_link.bandwidth;
  return detail::figure<dim::bandwidth>("catalogue.streaming.link_fallback", notes);
}

/// One layer, what the device must hold, and how many layers there are.
struct StreamPass {
  WeightStreamLayer::Inputs<double> layer;
  Data<> held;
  double layers = 1;
};

StreamPass textbook(const In& in, Precision precision, const Conventions& c, Notes& notes) {
  const TextbookTotals t = textbook_totals(*in.workload, notes);
  const double heads = in.workload->shape.kv_heads.value_or(t.heads),
               width = t.heads > 0 ? t.width / t.heads : 0;
  StreamPass p;
  p.layers = t.layers;
  const Params<> each = t.params / t.layers;
  p.layer.layer_weights = each * (bytes_per_element(precision) * unit::B / unit::param);
  p.layer.work_per_sample = each * (2.0 * unit::FLOP / unit::param);
  if (in.phase == StreamPhase::prefill)
    p.layer.work_per_sample =
        p.layer.work_per_sample * in.seq_len + 2.0 * heads * in.seq_len * in.seq_len * width * unit::FLOP;
  p.layer.efficiency = in.efficiency.value_or(c.textbook_efficiency);
  if (!in.efficiency) notes.assume("efficiency", c.textbook_efficiency, "zoo/defaults.yaml");
  if (in.workload->has_shape()) {
    const Data<> kv = kv_cache_bytes(*in.workload, in.seq_len, in.batch_size, precision);
    p.held = kv * (1.0 + detail::number("catalogue.streaming.activation_headroom", notes));
  } else {
    notes.warn("keys and values are not counted: the shape of the model is not known");
  }
  return p;
}

StreamPass operators(const In& in, Precision precision, const Conventions& c, Notes& notes) {
  const bool decode = in.phase == StreamPhase::decode;
  const auto model = model_view(*in.workload, decode ? Phase::decode : Phase::prefill);
  Plan<> plan;
  plan.batch = in.batch_size;
  plan.context = in.seq_len;
  plan.new_tokens = decode ? 1 : in.seq_len;
  set_storage(plan, inference_storage(precision, std::nullopt));
  OpList<> ops;
  const auto range = lower(model.structure, model.shape, model.layers, plan, ops);
  const auto totals = totals_of(ops, range.forward_end);
  StreamPass p;
  p.layers = std::max(1.0, model.shape.layers);
  double share = 1;  // of the experts that come in
  if (in.workload->is_moe()) {
    const auto load = ExpertLoad::solve<double>(
        {model.shape.experts, std::max(1.0, model.shape.top_k), in.batch_size * plan.new_tokens});
    share = load.touched / model.shape.experts;
  }
  p.layer.layer_weights = plan.weight_bytes * (totals.dense_params + totals.expert_params * share) / p.layers;
  p.layer.work_per_sample = totals.work / (p.layers * in.batch_size);
  const Device<> device = device_view(*in.hardware, precision, c, notes);
  p.layer.efficiency = in.efficiency.value_or(device.matrix_share);
  p.held = totals.state + totals.live + device.reserve;
  return p;
}

}  // namespace

WeightStreamingModel::Result WeightStreamingModel::solve(const Inputs& in, Notes& notes) const {
  Result r;
  r.fidelity = fidelity_or_default(in.fidelity, *in.workload, notes);
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  if (!in.hardware->memory.capacity && !in.hardware->memory.sram_capacity)
    throw InputError(
        {.id = "mlsysim.catalogue.035",
         .message = fmt::format("'{}' has no memory for caches and activations", in.hardware->name),
         .key = "memory.capacity",
         .expected = "a memory or on-chip capacity",
         .hint = "give the device memory: {capacity: ...}"});
  StreamPass p = r.fidelity == Fidelity::textbook ? textbook(in, precision, c, notes)
                                                  : operators(in, precision, c, notes);
  p.layer.bandwidth = injection_of(in, notes);
  p.layer.batch_size = in.batch_size;
  p.layer.peak = rate_at(*in.hardware, precision);
  p.layer.dispatch = in.hardware->dispatch_overhead.value_or(c.dispatch_overhead);
  const auto layer = WeightStreamLayer::solve<double>(p.layer);
  const Data<> capacity =
      in.hardware->memory.capacity ? *in.hardware->memory.capacity : *in.hardware->memory.sram_capacity;
  r.memory_utilization = p.held / capacity;
  r.feasible = p.held <= capacity;
  r.layer_compute_time = layer.compute;
  r.layer_injection_time = layer.injection;
  r.latency = layer.time * p.layers;
  r.bottleneck = layer.compute >= layer.injection ? Bottleneck::compute : Bottleneck::network;
  r.optimal_batch_size = std::max(1.0, std::floor(layer.balance_batch));
  const double tokens = in.batch_size * (in.phase == StreamPhase::prefill ? in.seq_len : 1.0);
  if (r.feasible)
    r.token_throughput = tokens * unit::token / r.latency;
  else
    notes.warn("caches and activations do not fit on the device: use a smaller batch or shorter sequences");
  return r;
}

}  // namespace mlsysim
