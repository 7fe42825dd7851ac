#include "catalogue/shared/figures.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/weight_streaming.hpp>
#include <mlsysim/physics/batching.hpp>
#include <mlsysim/price/fill.hpp>
#include <mlsysim/price/pricing.hpp>
#include <mlsysim/price/rules/device.hpp>

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

}  // namespace

WeightStreamingModel::Result WeightStreamingModel::solve(const Inputs& in, Notes& notes) const {
  const Pricing& pricing = pricing_for(in.fidelity, *in.workload, notes);
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  if (!in.hardware->memory.capacity && !in.hardware->memory.sram_capacity)
    throw InputError(
        {.id = "mlsysim.catalogue.035",
         .message = fmt::format("'{}' has no memory for caches and activations", in.hardware->name),
         .key = "memory.capacity",
         .expected = "a memory or on-chip capacity",
         .hint = "give the device memory: {capacity: ...}"});
  const double seq_len = seq_len_or_default(in.seq_len, *in.workload, 0, notes);
  const auto needs = pricing.devices().streamed({.workload = *in.workload,
                                                 .hardware = *in.hardware,
                                                 .conventions = c,
                                                 .precision = precision,
                                                 .decodes = in.phase == StreamPhase::decode,
                                                 .batch = in.batch_size,
                                                 .seq_len = seq_len,
                                                 .efficiency = in.efficiency},
                                                detail::zoo_figures(notes));
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
  r.fidelity = pricing.fidelity();
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
