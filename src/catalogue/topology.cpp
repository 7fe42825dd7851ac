#include "detail/figures.hpp"
#include "detail/unpriced.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/topology.hpp>
#include <mlsysim/price/views.hpp>
#include <mlsysim/physics/topology.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace mlsysim {
namespace {

Topology topology_of(const TopologyModel::Inputs& in, Notes& notes) {
  if (in.topology) return *in.topology;
  if (const auto known = choice_of<Topology>(in.fabric->topology)) {
    notes.assume("topology", in.fabric->topology, "the fabric '" + in.fabric->name + "'");
    return *known;
  }
  throw InputError(
      {.id = "mlsysim.catalogue.032",
       .message = fmt::format("the topology of '{}' has no law", in.fabric->name),
       .key = "topology",
       .found = in.fabric->topology.empty() ? std::string("none") : fmt::format("'{}'", in.fabric->topology),
       .expected = fmt::format("one of {}", fmt::join(Choices<Topology>::names, ", ")),
       .hint = "name a topology"});
}

double dimensions_of(Topology topology) {
  switch (topology) {
    case Topology::torus_3d:
      return 3;
    case Topology::torus_2d:
    case Topology::mesh_2d:
      return 2;
    case Topology::ring:
    case Topology::fat_tree:
    case Topology::dragonfly:
      break;
  }
  return 1;
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

}  // namespace

TopologyModel::Result TopologyModel::solve(const Inputs& in, Notes& notes) const {
  Result r;
  r.fidelity = detail::refined_by_default(in.fidelity);
  r.topology = topology_of(in, notes);
  r.num_nodes = in.num_nodes;
  const Conventions& c = conventions_or_standard(in.conventions);
  const bool textbook = r.fidelity == Fidelity::textbook;
  if (textbook) detail::warn_of_unpriced(in, {"switch_ports"}, notes);
  else if (r.topology != Topology::fat_tree) detail::warn_of_idle(in, {"switch_ports"}, "on anything but a fat tree", notes);
  const Bandwidth<> link = in.fabric->bandwidth.value_or(c.fabric_bandwidth);
  if (!in.fabric->bandwidth) notes.assume("fabric_bandwidth", c.fabric_bandwidth, "zoo/defaults.yaml");
  const double thin = in.fabric->oversubscription;
  const Bandwidth<> full = ClosBisection::solve<double>({link, in.num_nodes, 1.0}).bisection;
  switch (r.topology) {
    case Topology::fat_tree:
      r.bisection_bandwidth = ClosBisection::solve<double>({link, in.num_nodes, thin}).bisection;
      r.hops_avg =
          textbook ? 4.0
                   : tree_hops(in.num_nodes, in.switch_ports
                                                 ? *in.switch_ports
                                                 : detail::number("catalogue.topology.switch_ports", notes));
      break;
    case Topology::dragonfly:
      r.bisection_bandwidth = textbook
                                  ? full * detail::number("catalogue.topology.dragonfly_share", notes) / thin
                                  : DragonflyBisection::solve<double>({link, in.num_nodes}).bisection / thin;
      // Up to the switch, local, global, local, and down; the textbook counts the three between switches.
      r.hops_avg = textbook ? 3.0 : 5.0;
      break;
    case Topology::torus_3d:
    case Topology::torus_2d:
    case Topology::mesh_2d:
    case Topology::ring: {
      const double cut = r.topology == Topology::mesh_2d || textbook ? 1.0 : 2.0;
      const auto lattice =
          TorusBisection::solve<double>({link, in.num_nodes, dimensions_of(r.topology), cut});
      r.bisection_bandwidth = lattice.bisection / thin;
      // An open line of k nodes is k / 3 across on average, a closed one k / 4.
      r.hops_avg = r.topology == Topology::mesh_2d ? lattice.hops * 4.0 / 3.0 : lattice.hops;
      break;
    }
  }
  // Small lattices have more links across the middle than their nodes can fill.
  if (!textbook) r.bisection_bandwidth = min(r.bisection_bandwidth, full / thin);
  r.bisection_fraction = r.bisection_bandwidth / full * thin;
  r.effective_bandwidth = r.bisection_bandwidth / (in.num_nodes / 2.0);
  r.exchange_time = (1.0 * unit::GB) / r.effective_bandwidth;
  return r;
}

}  // namespace mlsysim
