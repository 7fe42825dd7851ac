#include "resolvers/shared/figures.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/physics/topology.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/models/topology.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mlsysim {
namespace {

constexpr double kNodes = 64;

/// The fabric that is asked for, or that of the fleet.
const NetworkFabric& fabric_of(const TopologyModel::Inputs& in, Notes& notes) {
  if (in.fabric != nullptr) return *in.fabric;
  if (in.fleet != nullptr && in.fleet->fabric != nullptr) {
    notes.assume("fabric", in.fleet->fabric->name, "the fleet '" + in.fleet->name + "'");
    return *in.fleet->fabric;
  }
  throw InputError({.id = "mlsysim.catalogue.078",
                    .message = "there is no network to look at",
                    .key = "fabric",
                    .found = in.fleet != nullptr ? "a fleet without a fabric" : "neither fabric nor fleet",
                    .expected = "a fabric, or a fleet with one",
                    .hint = "name a fabric of the zoo"});
}

double nodes_of(const TopologyModel::Inputs& in, Notes& notes) {
  if (in.num_nodes) return *in.num_nodes;
  if (in.fleet == nullptr) {
    notes.assume("num_nodes", kNodes, "convention of MLSys-im");
    return kNodes;
  }
  if (in.fleet->count < 2)
    throw DomainError({.id = "mlsysim.catalogue.079",
                       .message = "a single node has no network to other nodes",
                       .key = "fleet",
                       .found = in.fleet->name,
                       .expected = "a fleet of two nodes and more",
                       .hint = "give num_nodes, or another fleet"});
  notes.assume("num_nodes", in.fleet->count, "the fleet '" + in.fleet->name + "'");
  return in.fleet->count;
}

Topology topology_of(const TopologyModel::Inputs& in, const NetworkFabric& fabric, Notes& notes) {
  if (in.topology) return *in.topology;
  if (const auto known = choice_of<Topology>(fabric.topology)) {
    notes.assume("topology", fabric.topology, "the fabric '" + fabric.name + "'");
    return *known;
  }
  throw InputError(
      {.id = "mlsysim.catalogue.032",
       .message = fmt::format("the topology of '{}' has no law", fabric.name),
       .key = "topology",
       .found = fabric.topology.empty() ? std::string("none") : fmt::format("'{}'", fabric.topology),
       .expected = fmt::format("one of {}", fmt::join(Choices<Topology>::names, ", ")),
       .hint = "name a topology"});
}

/// End points that are joined by equal links.
struct NetworkShape {
  Topology topology = Topology::fat_tree;
  Bandwidth<> link;
  double nodes = 2, oversubscription = 1;
  std::optional<double> ports{};  ///< of a switch
};

/// The middle of a network, and links between two end points on average.
struct NetworkCut {
  Bandwidth<> bisection;
  double hops = 0;
};

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

/// Fixed factors of a full bisection.
NetworkCut textbook_cut(const NetworkShape& n, const Figures& figures) {
  if (n.topology == Topology::fat_tree) return {full_bisection(n, n.oversubscription), 4};
  if (n.topology != Topology::dragonfly) return lattice_cut(n, 1);  // a torus counted as a mesh
  // Three links between switches.
  return {full_bisection(n, 1) * figures.number("catalogue.topology.dragonfly_share") / n.oversubscription,
          3};
}

/// Links of the cut.
NetworkCut operator_cut(const NetworkShape& n, const Figures& figures) {
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

}  // namespace

TopologyModel::Result TopologyModel::solve(const Inputs& asked, Notes& notes) const {
  const Fidelity fidelity = fidelity_or_operators(asked.fidelity);
  const Inputs in = detail::priced(asked, fidelity, {"switch_ports"}, notes);
  const Conventions& c = conventions_or_standard(in.conventions);
  Result r;
  r.fidelity = fidelity;
  const NetworkFabric& fabric = fabric_of(in, notes);
  r.topology = topology_of(in, fabric, notes);
  const double nodes = r.num_nodes = nodes_of(in, notes);
  if (r.topology != Topology::fat_tree)
    detail::warn_of_idle(in, {"switch_ports"}, "on anything but a fat tree", notes);
  const Bandwidth<> link = fabric.bandwidth.value_or(c.fabric_bandwidth);
  if (!fabric.bandwidth) notes.assume("fabric_bandwidth", c.fabric_bandwidth, kDefaults);
  const double thin = fabric.oversubscription;
  const NetworkShape shape{r.topology, link, nodes, thin, in.switch_ports};
  const Figures figures = detail::zoo_figures(notes);
  const NetworkCut cut =
      fidelity == Fidelity::textbook ? textbook_cut(shape, figures) : operator_cut(shape, figures);
  r.bisection_bandwidth = cut.bisection;
  r.hops_avg = cut.hops;
  r.bisection_fraction =
      r.bisection_bandwidth / ClosBisection::solve<double>({link, nodes, 1.0}).bisection * thin;
  r.effective_bandwidth = r.bisection_bandwidth / (nodes / 2.0);
  r.exchange_time = (1.0 * unit::GB) / r.effective_bandwidth;
  return r;
}

}  // namespace mlsysim
