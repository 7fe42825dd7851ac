#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/network_roofline.hpp>

#include <mlsysim/price/views.hpp>
#include <mlsysim/physics/requirements.hpp>
#include <mlsysim/physics/roofline.hpp>

#include "detail/figures.hpp"
#include "detail/unpriced.hpp"

#include <algorithm>

namespace mlsysim {

NetworkRooflineModel::Result NetworkRooflineModel::solve(const Inputs& in, Notes& notes) const {
  Result r;
  r.fidelity = detail::refined_by_default(in.fidelity);
  const Conventions& c = conventions_or_standard(in.conventions);
  const HardwareNode& device = *in.fleet->node->accelerator;
  const Precision precision = precision_or_default(in.precision, device, notes);
  const TextbookTotals totals = textbook_totals(*in.workload, notes);
  const double devices = in.fleet->total_accelerators();
  const ComputeRate<> peak = rate_at(device, precision);
  Work<> work;
  if (r.fidelity == Fidelity::textbook) {
    detail::warn_of_unpriced(in, {"batch_size", "seq_len"}, notes);
    const double efficiency = in.efficiency.value_or(c.textbook_efficiency);
    if (!in.efficiency) notes.assume("efficiency", efficiency, "zoo/defaults.yaml");
    Bandwidth<> link = c.fabric_bandwidth;
    if (in.fleet->fabric != nullptr && in.fleet->fabric->bandwidth)
      link = *in.fleet->fabric->bandwidth / in.fleet->fabric->oversubscription;
    else
      notes.assume("fabric_bandwidth", link, "zoo/defaults.yaml");
    work = totals.params * (6.0 * unit::FLOP / unit::param);
    const Data<> exchange = totals.params * (2.0 * bytes_per_element(precision) * unit::B / unit::param);
    const auto roof = Roofline::solve<double>(
        {.work = work, .traffic = exchange, .peak = peak * devices * efficiency, .bandwidth = link});
    r.latency = roof.time;
    r.latency_compute = roof.compute;
    r.latency_network = roof.memory;
    r.arithmetic_intensity = work / exchange;
    r.ridge = peak * devices / link;
    r.token_throughput = (1.0 * unit::token) / r.latency;
  } else {
    const Device<> d = device_view(device, precision, c, notes);
    const Links<> links = links_view(*in.fleet, c, notes);
    const double batch = in.batch_size.value_or(devices);
    const double tokens = batch * in.seq_len;
    const double efficiency = in.efficiency.value_or(d.matrix_share);
    // Replicas in a node first sum their gradients over the inner links; each device then exchanges its part
    // outside.
    const double inside = std::min(links.per_node, devices), nodes = devices / inside;
    const Bandwidth<> wide = links.inter_bandwidth * links.share * inside;
    const Bandwidth<> narrow =
        nodes > 1 ? min(wide, links.intra_bandwidth * links.share) : links.intra_bandwidth * links.share;
    const double gradient = training_storage(precision, OptimizerKind::adam).gradient_bytes;
    const auto step = DataParallelRoofline::solve<double>(
        {.params = totals.active_params,
         .tokens = tokens / devices * unit::token,
         .element_bytes = gradient * (totals.params / totals.active_params) * unit::B,
         .devices = devices,
         .peak = peak,
         .efficiency = efficiency,
         .bandwidth = narrow});
    work = 6.0 * unit::FLOP / unit::param / unit::token * totals.active_params * (tokens * unit::token);
    r.latency = step.time;
    r.latency_compute = step.compute;
    r.latency_network = step.network;
    r.ridge_batch_size = step.ridge_tokens.in(unit::token)*devices / in.seq_len;
    const Data<> exchange = step.network * narrow * devices;
    if (devices > 1) r.arithmetic_intensity = work / exchange;
    r.ridge = peak * efficiency / narrow;
    r.token_throughput = tokens * unit::token / r.latency;
  }
  r.bottleneck = r.latency_network > r.latency_compute ? Bottleneck::network : Bottleneck::compute;
  r.mfu = std::min(1.0, work / (peak * devices * r.latency));
  return r;
}

}  // namespace mlsysim
