#include "price/rules/rules.hpp"

#include <mlsysim/physics/collectives.hpp>
#include <mlsysim/physics/requirements.hpp>
#include <mlsysim/physics/roofline.hpp>
#include <mlsysim/physics/topology.hpp>
#include <mlsysim/price/rules/network.hpp>
#include <mlsysim/units/unit.hpp>

#include <algorithm>

namespace mlsysim::detail {
namespace {

Bandwidth<> full_bisection(const NetworkShape& n, double oversubscription) {
  return ClosBisection::solve<double>({n.link, n.nodes, oversubscription}).bisection;
}

/// @param lines links of a closed line that a cut crosses
NetworkCut lattice_cut(const NetworkShape& n, double lines) {
  const bool open = n.topology == Topology::mesh_2d;
  const double dimensions = n.topology == Topology::torus_3d           ? 3
                            : n.topology == Topology::torus_2d || open ? 2
                                                                       : 1;
  const auto lattice = TorusBisection::solve<double>({n.link, n.nodes, dimensions, open ? 1.0 : lines});
  // An open line of k nodes is k / 3 across on average, a closed one k / 4.
  return {lattice.bisection / n.oversubscription, open ? lattice.hops * 4.0 / 3.0 : lattice.hops};
}

/// Links between two end points of a fat tree of as many levels as it needs: up and down again.
double tree_hops(double nodes, double ports) {
  double reach = ports, levels = 1;  // one switch; every further level multiplies by half of the ports
  while (reach < nodes && levels < 16) {
    reach *= ports / 2;
    ++levels;
  }
  return 2 * levels;
}

/// Fixed factors; experts evenly loaded, tokens that travel once.
class TextbookNetwork final : public NetworkRules {
 public:
  NetworkCut cut(const NetworkShape& n, const Figures& figures) const override {
    if (n.topology == Topology::fat_tree) return {full_bisection(n, n.oversubscription), 4};
    if (n.topology != Topology::dragonfly) return lattice_cut(n, 1);  // a torus counted as a mesh
    // Three links between switches.
    return {full_bisection(n, 1) * figures.number("catalogue.topology.dragonfly_share") / n.oversubscription,
            3};
  }

  /// One token of work against an exchange over one link of the fabric.
  FleetRoof fleet_roof(const FleetStep& s, Notes& notes) const override {
    const double efficiency = s.efficiency.value_or(s.conventions.textbook_efficiency);
    if (!s.efficiency) notes.assume("efficiency", efficiency, kDefaults);
    Bandwidth<> link = s.conventions.fabric_bandwidth;
    if (s.fleet.fabric != nullptr && s.fleet.fabric->bandwidth)
      link = *s.fleet.fabric->bandwidth / s.fleet.fabric->oversubscription;
    else
      notes.assume("fabric_bandwidth", link, kDefaults);
    const ComputeRate<> peak =
        rate_at(*s.fleet.node->accelerator, s.precision) * s.fleet.total_accelerators();
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

  double imbalance(const ExpertLoad::Result<double>& /*chance*/, Notes& notes) const override {
    notes.assume("routing_imbalance_factor", 1.0, "even routing");
    return 1;
  }
  double dearer(double uneven, Params<> /*routed*/, Params<> /*active*/) const override { return uneven; }
  Data<> rank_message(Data<> all, double /*ranks*/) const override { return all; }
  Time<> travel(Data<> message, double ranks, double /*layers*/, const Fleet& fleet, const Conventions& c,
                Notes& notes) const override {
    const auto* fabric = fleet.fabric;
    Bandwidth<> link = c.fabric_bandwidth;
    if (fabric != nullptr && fabric->bandwidth)
      link = *fabric->bandwidth / fabric->oversubscription;
    else
      notes.assume("fabric_bandwidth", link, kDefaults);
    Time<> alpha = c.inter_latency;
    if (fabric != nullptr && fabric->latency)
      alpha = *fabric->latency;
    else
      notes.assume("inter_latency", alpha, kDefaults);
    return AllToAll::solve<double>({.message = message, .ranks = ranks, .bandwidth = link, .alpha = alpha})
        .time;
  }
};

/// Links of the cut; rings over every device's share of the network; chance loads the experts unevenly.
class OperatorNetwork final : public NetworkRules {
 public:
  NetworkCut cut(const NetworkShape& n, const Figures& figures) const override {
    NetworkCut c;
    if (n.topology == Topology::fat_tree)
      c = {full_bisection(n, n.oversubscription),
           tree_hops(n.nodes, n.ports ? *n.ports : figures.number("catalogue.topology.switch_ports"))};
    else if (n.topology == Topology::dragonfly)  // up to the switch, local, global, local, and down
      c = {DragonflyBisection::solve<double>({n.link, n.nodes}).bisection / n.oversubscription, 5};
    else
      c = lattice_cut(n, 2);
    // Small lattices have more links across the middle than their nodes can fill.
    c.bisection = min(c.bisection, full_bisection(n, 1) / n.oversubscription);
    return c;
  }

  FleetRoof fleet_roof(const FleetStep& s, Notes& notes) const override {
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

  double imbalance(const ExpertLoad::Result<double>& chance, Notes& notes) const override {
    notes.assume("routing_imbalance_factor", chance.imbalance, "raabsteger1998balls");
    return chance.imbalance;
  }
  /// Only the routed experts last longer; attention, norms and shared experts do not.
  double dearer(double uneven, Params<> routed, Params<> active) const override {
    return 1.0 + min(routed, active) / active * (uneven - 1.0);
  }
  Data<> rank_message(Data<> all, double ranks) const override { return all / ranks; }
  /// To the experts and back in every layer.
  Time<> travel(Data<> message, double ranks, double layers, const Fleet& fleet, const Conventions& c,
                Notes& notes) const override {
    Op<> exchange;
    exchange.kind = OpKind::collective;
    exchange.collective = Collective::all_to_all;
    exchange.message = message;
    exchange.ranks = ranks;
    exchange.count = 2 * layers;
    const auto& hardware = *fleet.node->accelerator;
    const Device<> device = device_view(hardware, hardware.compute.default_precision, c, notes);
    return price(exchange, device, links_view(fleet, c, notes)).network;
  }
};

}  // namespace

const NetworkRules& textbook_network() {
  static const TextbookNetwork rules;
  return rules;
}
const NetworkRules& operator_network() {
  static const OperatorNetwork rules;
  return rules;
}

}  // namespace mlsysim::detail
