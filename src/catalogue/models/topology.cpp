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

}  // namespace

TopologyModel::Result TopologyModel::solve(const Inputs& asked, Notes& notes) const {
  const Pricing& pricing = pricing_named(asked.fidelity);
  const Inputs in = detail::priced(asked, pricing.unpriced(PricedInputs::topology), notes);
  const Conventions& c = conventions_or_standard(in.conventions);
  Result r;
  r.fidelity = pricing.fidelity();
  r.topology = topology_of(in, notes);
  r.num_nodes = in.num_nodes;
  if (r.topology != Topology::fat_tree)
    detail::warn_of_idle(in, {"switch_ports"}, "on anything but a fat tree", notes);
  const Bandwidth<> link = in.fabric->bandwidth.value_or(c.fabric_bandwidth);
  if (!in.fabric->bandwidth) notes.assume("fabric_bandwidth", c.fabric_bandwidth, kDefaults);
  const double thin = in.fabric->oversubscription;
  const auto cut = pricing.network().cut({r.topology, link, in.num_nodes, thin, in.switch_ports},
                                         detail::zoo_figures(notes));
  r.bisection_bandwidth = cut.bisection;
  r.hops_avg = cut.hops;
  r.bisection_fraction =
      r.bisection_bandwidth / ClosBisection::solve<double>({link, in.num_nodes, 1.0}).bisection * thin;
  r.effective_bandwidth = r.bisection_bandwidth / (in.num_nodes / 2.0);
  r.exchange_time = (1.0 * unit::GB) / r.effective_bandwidth;
  return r;
}

}  // namespace mlsysim
