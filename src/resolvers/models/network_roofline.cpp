#include "resolvers/shared/figures.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/physics/requirements.hpp>
#include <mlsysim/physics/roofline.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/models/network_roofline.hpp>
#include <mlsysim/timing/collective.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/units/unit.hpp>

#include <algorithm>

namespace mlsysim {
namespace {

/// A data-parallel step of a fleet.
struct FleetStep {
  const Workload& workload;
  const Fleet& fleet;
  Precision precision;
  Totals<> totals;
  std::optional<double> batch, seq_len, efficiency;
  const Conventions& conventions;
};

/// Its two roofs.
struct FleetRoof {
  Time<> time, compute, network;
  Work<> work;
  Tokens<> tokens;
  Intensity<> intensity, ridge;         ///< work a byte of exchange; 0 without any
  std::optional<double> ridge_batch{};  ///< sequences at which both roofs take as long
};

/// One token of work against an exchange over one link of the fabric.
FleetRoof textbook_roof(const FleetStep& s, Notes& notes) {
  const double efficiency = detail::textbook_efficiency(s.efficiency, s.conventions, notes);
  Bandwidth<> link = s.conventions.fabric_bandwidth;
  if (s.fleet.fabric != nullptr && s.fleet.fabric->bandwidth)
    link = *s.fleet.fabric->bandwidth / s.fleet.fabric->oversubscription;
  else
    notes.assume("fabric_bandwidth", link, kDefaults);
  const ComputeRate<> peak = rate_at(*s.fleet.node->accelerator, s.precision) * s.fleet.total_accelerators();
  const Work<> work = s.totals.params * (6.0 * unit::FLOP / unit::param);
  const Data<> exchange = s.totals.params * (2.0 * bytes_per_element(s.precision) * unit::B / unit::param);
  const auto roof = Roofline::solve<double>(
      {.work = work, .traffic = exchange, .peak = peak * efficiency, .bandwidth = link});
  return {.time = roof.time,
          .compute = roof.compute,
          .network = roof.memory,
          .work = work,
          .tokens = 1.0 * unit::token,
          .intensity = work / exchange,
          .ridge = peak / link};
}

/// Rings over every device's share of the network.
FleetRoof operator_roof(const FleetStep& s, Notes& notes) {
  const HardwareNode& hardware = *s.fleet.node->accelerator;
  const Device<> d = device_view(hardware, s.precision, s.conventions, notes);
  const Links<> links = links_view(s.fleet, s.conventions, notes);
  const double devices = s.fleet.total_accelerators();
  const double seq_len = seq_len_or_default(s.seq_len, s.workload, 0, notes);
  const double tokens = s.batch.value_or(devices) * seq_len;
  const double efficiency = s.efficiency.value_or(d.efficiency.matrix);
  const ComputeRate<> peak = rate_at(hardware, s.precision);
  // Replicas in a node first sum their gradients over the inner links; each device then exchanges its part
  // outside.
  const Spread<> all = spread_of(devices, 1.0, links);
  const Bandwidth<> link = whole_link(links) * links.level1.share;
  const Bandwidth<> narrow = all.nodes > 1 ? min(all.ring * all.inner, link) : link;
  const double gradient = training_storage(s.precision, OptimizerKind::adam).gradient_bytes;
  const auto step = DataParallelRoofline::solve<double>(
      {.params = s.totals.active_params,
       .tokens = tokens / devices * unit::token,
       .element_bytes = gradient * (s.totals.params / s.totals.active_params) * unit::B,
       .devices = devices,
       .peak = peak,
       .efficiency = efficiency,
       .bandwidth = narrow});
  FleetRoof r{
      .time = step.time, .compute = step.compute, .network = step.network, .tokens = tokens * unit::token};
  r.work = 6.0 * unit::FLOP / unit::param / unit::token * s.totals.active_params * r.tokens;
  r.ridge = peak * efficiency / narrow;
  r.ridge_batch = step.ridge_tokens.in(unit::token)*devices / seq_len;
  if (devices > 1) r.intensity = r.work / (step.network * narrow * devices);
  return r;
}

}  // namespace

NetworkRooflineModel::Result NetworkRooflineModel::solve(const Inputs& asked, Notes& notes) const {
  const Fidelity fidelity = fidelity_or_operators(asked.fidelity);
  const Inputs in = detail::priced(asked, fidelity, {"batch_size", "seq_len"}, notes);
  const HardwareNode& device = *in.fleet->node->accelerator;
  const Precision precision = precision_or_default(in.precision, device, notes);
  const FleetStep step{.workload = *in.workload,
                       .fleet = *in.fleet,
                       .precision = precision,
                       .totals = totals_of(*in.workload, notes),
                       .batch = in.batch_size,
                       .seq_len = in.seq_len,
                       .efficiency = in.efficiency,
                       .conventions = conventions_or_standard(in.conventions)};
  const FleetRoof roof =
      fidelity == Fidelity::textbook ? textbook_roof(step, notes) : operator_roof(step, notes);
  Result r;
  r.fidelity = fidelity;
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
