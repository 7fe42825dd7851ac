#include "catalogue/shared/unpriced.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/network_roofline.hpp>
#include <mlsysim/price/pricing.hpp>
#include <mlsysim/price/rules/network.hpp>

#include <algorithm>

namespace mlsysim {

NetworkRooflineModel::Result NetworkRooflineModel::solve(const Inputs& asked, Notes& notes) const {
  const Pricing& pricing = pricing_named(asked.fidelity);
  const Inputs in = detail::priced(asked, pricing.unpriced(PricedInputs::network_roofline), notes);
  const HardwareNode& device = *in.fleet->node->accelerator;
  const Precision precision = precision_or_default(in.precision, device, notes);
  const auto roof = pricing.network().fleet_roof({.workload = *in.workload,
                                                  .fleet = *in.fleet,
                                                  .precision = precision,
                                                  .totals = totals_of(*in.workload, notes),
                                                  .batch = in.batch_size,
                                                  .seq_len = in.seq_len,
                                                  .efficiency = in.efficiency,
                                                  .conventions = conventions_or_standard(in.conventions)},
                                                 notes);
  Result r;
  r.fidelity = pricing.fidelity();
  r.latency = roof.time;
  r.latency_compute = roof.compute;
  r.latency_network = roof.network;
  r.arithmetic_intensity = roof.intensity;
  r.ridge = roof.ridge;
  r.ridge_batch_size = roof.ridge_batch;
  r.token_throughput = roof.tokens / roof.time;
  r.bottleneck = roof.network > roof.compute ? Bottleneck::network : Bottleneck::compute;
  r.mfu =
      std::min(1.0, roof.work / (rate_at(device, precision) * in.fleet->total_accelerators() * roof.time));
  return r;
}

}  // namespace mlsysim
