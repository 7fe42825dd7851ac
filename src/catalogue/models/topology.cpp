#include "catalogue/shared/figures.hpp"
#include "catalogue/shared/unpriced.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/topology.hpp>
#include <mlsysim/physics/topology.hpp>
#include <mlsysim/price/pricing.hpp>

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

}  // namespace

TopologyModel::Result TopologyModel::solve(const Inputs& asked, Notes& notes) const {
  const Pricing& pricing = pricing_named(asked.fidelity);
  const Inputs in = detail::priced(asked, pricing.unpriced(PricedInputs::topology), notes);
  const Conventions& c = conventions_or_standard(in.conventions);
  Result r;
  r.fidelity = pricing.fidelity();
  const NetworkFabric& fabric = fabric_of(in, notes);
  r.topology = topology_of(in, fabric, notes);
  const double nodes = r.num_nodes = nodes_of(in, notes);
  if (r.topology != Topology::fat_tree)
    detail::warn_of_idle(in, {"switch_ports"}, "on anything but a fat tree", notes);
  const Bandwidth<> link = fabric.bandwidth.value_or(c.fabric_bandwidth);
  if (!fabric.bandwidth) notes.assume("fabric_bandwidth", c.fabric_bandwidth, kDefaults);
  const double thin = fabric.oversubscription;
  const auto cut =
      pricing.network().cut({r.topology, link, nodes, thin, in.switch_ports}, detail::zoo_figures(notes));
  r.bisection_bandwidth = cut.bisection;
  r.hops_avg = cut.hops;
  r.bisection_fraction =
      r.bisection_bandwidth / ClosBisection::solve<double>({link, nodes, 1.0}).bisection * thin;
  r.effective_bandwidth = r.bisection_bandwidth / (nodes / 2.0);
  r.exchange_time = (1.0 * unit::GB) / r.effective_bandwidth;
  return r;
}

}  // namespace mlsysim
