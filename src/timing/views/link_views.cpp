// The ladder of links of a machine as numbers: missing figures are replaced here, and each replacement is
// noted.
#include "timing/views/bare_links_view.hpp"
#include "timing/views/device_figures.hpp"
#include "timing/views/or_convention.hpp"

#include <mlsysim/reflect/member.hpp>
#include <mlsysim/specs/detail/torus.hpp>
#include <mlsysim/timing/collective.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/timing/views.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

/// Collectives inside the innermost level: figures of the node, of the device, of its class, or conventions.
void set_collectives(Links<>& l, const Node* node, const HardwareNode& hardware, const Conventions& c,
                     Notes& notes, Phase phase) {
  const DeviceFigures figures(hardware, c);
  const auto figure = [&]<class Q>(std::string_view path, const std::optional<Q>& own, const Q& convention,
                                   std::string_view name) {
    if (!own) {
      const FigureRow& row = *find_figure_row(path);
      if (const auto found = figures(row)) {
        Q value{};
        if constexpr (std::is_same_v<Q, double>)
          value = found->base;
        else
          value = Q::from_base(found->base);
        if (!found->own() && notes.wanted())
          notes.assume({SharedText::lasting(row.path), AssumedValue::of(found->base, row.type->inner().exps),
                        found->source()});
        return value;
      }
    }
    return own || name.empty() ? own.value_or(convention) : or_convention(own, convention, name, notes);
  };
  const CollectiveTimes t = node != nullptr ? node->collectives : CollectiveTimes();
  const auto share = node != nullptr ? node->link_share : std::nullopt;
  l.level1.share = figure("efficiency.link", share, c.link_share, "efficiency.link");
  l.mesh = hardware.device_link.peers.value_or(1);
  l.launch = figure("collectives.launch", t.launch, c.collective_launch, "collective_launch");
  l.hop = figure("collectives.hop", t.hop, c.collective_hop, "collective_hop");
  l.sync = figure("collectives.sync", t.sync, c.collective_sync, "collective_sync");
  l.low_latency_share =
      figure("collectives.low_latency_share", t.low_latency_share, c.low_latency_share, "low_latency_share");
  l.copy_ratio = figure("collectives.copy_ratio", t.copy_ratio, c.copy_ratio, "copy_ratio");
  l.pair_share = figure("collectives.pair_share", t.pair_share, c.pair_share, "pair_share");
  l.switch_share = figure("collectives.switch_share", t.switch_share, c.switch_share, "switch_share");
  if (l.switch_share > 0)
    l.switch_start = figure("collectives.switch_start", t.switch_start, c.switch_start, "switch_start");
  if (phase != Phase::prefill && phase != Phase::decode) return;
  l.direct = 1;
  l.direct_start = figure("collectives.direct_start", t.direct_start, c.direct_start, "direct_start");
  l.direct_hop = figure("collectives.direct_hop", t.direct_hop, c.direct_hop, "direct_hop");
  l.direct_second = figure("collectives.direct_second", t.direct_second, c.direct_second, "direct_second");
  l.direct_share = figure("collectives.direct_share", t.direct_share, c.direct_share, "direct_share");
  if (!joined_by_bus(hardware, node))
    l.direct_rows = figure("collectives.direct_rows", t.direct_rows, 0.0, {});
}

/// The link that joins the devices of a node: the node's, the devices' own, or else that to the host.
void set_inside(Links<>& l, std::optional<Bandwidth<>> stated, const HardwareNode& hardware,
                const Conventions& c, Notes& notes) {
  static const FigureRow& own = *find_figure_row("device_link.bandwidth");
  const auto path = filled(own, hardware, c) ? std::string_view(own.path) : "host_link.bandwidth";
  l.level1.bandwidth = stated ? *stated : Bandwidth<>::from_base(needed_figure(path, hardware, c, notes));
  l.level1.latency = or_convention(hardware.device_link.latency, c.intra_latency, "intra_latency", notes);
}

/// Builds the levels of a fleet, innermost first.
class Ladder {
 public:
  Ladder(const Fleet& fleet, const Conventions& c, Notes& notes, Links<>& links)
      : fleet_(fleet), node_(*fleet.node), hardware_(*node_.accelerator), c_(c), notes_(notes), l_(links) {}

  /// Adds the levels inside a node, or inside the domain that joins several nodes.
  void inside() {
    set_inside(l_, node_.intra_node_bandwidth, hardware_, c_, notes_);
    const Level<> link = l_.level1;
    if (l_.mesh == 1 && node_.pair_bandwidth) l_.mesh = max(1.0, link.bandwidth / *node_.pair_bandwidth);
    l_.form.levels = 0;
    const double own = node_.accelerators_per_node;
    if (node_.levels.empty()) {
      const double joined = joined_inside(fleet_);
      if (joined > own) notes_.assume("domain_accelerators", joined, "one inner network joins the nodes");
      if (const auto axes = torus_levels(torus_sides(node_.intra_node_topology, joined)); !axes.empty())
        stated_inside(axes, link);
      else
        add({.name = "node", .peers = joined}, link);
    } else {
      stated_inside(node_.levels, link);
      if (devices_ != own) refuse_product(node_.name, own);
      // Libraries take the devices of a node as equal, whatever joins them.
      if (l_.form.axes == 0 && l_.form.levels > 1) l_.form.algorithm = CollectiveAlgorithm::flat;
    }
    joined_ = devices_;
  }

  /// Adds the levels between nodes: those that the fleet lists, or else its fabric.
  void between() {
    const NetworkFabric* fabric = fleet_.fabric;
    std::optional<Bandwidth<>> port;
    std::optional<Time<>> latency;
    std::optional<double> share;
    std::optional<Data<>> in_flight;
    if (fabric != nullptr) {
      port = fabric->bandwidth, latency = fabric->latency;
      share = fabric->share, in_flight = fabric->in_flight;
    }
    const Bandwidth<> per_port = or_convention(port, c_.fabric_bandwidth, "fabric_bandwidth", notes_);
    const double ports = node_.nics_per_node ? *node_.nics_per_node / node_.accelerators_per_node : 1.0;
    if (!node_.nics_per_node)
      notes_.assume("nics_per_node", node_.accelerators_per_node, "one adapter for each device");
    // The slower of adapter and fabric port; a device's share of the node's adapters.
    const Bandwidth<> adapter = node_.nic_bandwidth ? min(*node_.nic_bandwidth, per_port) : per_port;
    if (adapter < per_port)
      notes_.assume("nic_bandwidth", adapter, "adapters slower than a port of the fabric");
    Level<> link{.bandwidth = adapter * ports};
    link.latency = or_convention(latency, c_.inter_latency, "inter_latency", notes_);
    link.share = or_convention(share, c_.network_share, "network_share", notes_);
    link.in_flight = in_flight.value_or(c_.network_in_flight);
    const double nodes = max(1.0, fleet_.total_accelerators() / joined_);
    bool reduces = !fleet_.levels.empty();
    for (const LinkLevel& stated : fleet_.levels) {
      Level<>& level = add(stated, link);
      // A level without ports of its own passes on all that comes from below.
      if (stated.ports)
        level.bandwidth =
            stated.bandwidth.value_or(adapter) * *stated.ports / (below(level) * stated.oversubscription);
      else if (!stated.bandwidth)
        level.bandwidth = link.bandwidth / stated.oversubscription;
      reduces = reduces && stated.reduces;
    }
    if (fleet_.levels.empty())
      add({.name = "fabric",
           .peers = nodes,
           .oversubscription = fabric != nullptr ? fabric->oversubscription : 1.0},
          link);
    else if (devices_ != fleet_.total_accelerators())
      refuse_product(fleet_.name, fleet_.total_accelerators());
    note_flight(in_flight.has_value());
    l_.form.reduces = reduces || (fabric != nullptr && fabric->reduces);
  }

 private:
  /// The levels that the node lists, or the axes of its torus. A device's link is the sum of those of all
  /// axes, there and back.
  void stated_inside(std::span<const LinkLevel> levels, const Level<>& link) {
    const auto is_axis = [](const LinkLevel& level) { return level.topology == LinkTopology::torus; };
    const auto axes = std::count_if(levels.begin(), levels.end(), is_axis);
    Level<> of_axis = link;
    of_axis.bandwidth = link.bandwidth / (2.0 * static_cast<double>(std::max<std::ptrdiff_t>(axes, 1)));
    for (const LinkLevel& stated : levels) {
      Level<>& level = add(stated, is_axis(stated) ? of_axis : link);
      if (stated.ports) level.bandwidth = level.bandwidth * *stated.ports / below(level);
      if (!is_axis(stated)) continue;
      if (++l_.form.axes != l_.form.levels) refuse_axis(stated);
    }
  }
  /// Adds a level; what it does not state is that of `link`, which is one way and a device's own.
  Level<>& add(const LinkLevel& stated, const Level<>& link) {
    if (l_.form.levels == Links<>::most_levels) refuse_depth();
    Level<>& level = l_[l_.form.levels++];
    level = link;
    level.peers = stated.peers;
    level.bandwidth = stated.bandwidth.value_or(link.bandwidth) / stated.oversubscription;
    if (stated.latency) level.latency = *stated.latency;
    if (stated.in_flight) level.in_flight = *stated.in_flight;
    devices_ *= level.peers;
    return level;
  }
  /// Says where what may be on its way binds, and not the link.
  void note_flight(bool stated) {
    for (int i = inner_levels(l_); i < l_.form.levels; ++i) {
      const Level<>& level = l_[i];
      if (level.peers <= 1 || level_rate(level) >= level.bandwidth * level.share) continue;
      if (!stated && level.in_flight == c_.network_in_flight)
        notes_.assume("network_in_flight", c_.network_in_flight, kDefaults);
      notes_.warn([&] {
        return fmt::format(
            "level {} of the network carries {:.3g} of its {:.3g} GB/s: {:.3g} MB on their way "
            "at once, {:.3g} us there and back",
            i + 1, level_rate(level).in(unit::GB / unit::s),
            (level.bandwidth * level.share).in(unit::GB / unit::s), level.in_flight.in(unit::MB),
            2 * level.latency.in(unit::us));
      });
    }
  }
  /// Devices of a group that `level`, the last one, joins.
  [[nodiscard]] double below(const Level<>& level) const { return devices_ / level.peers; }

  [[noreturn]] void refuse_axis(const LinkLevel& stated) const {
    throw InputError({.id = "mlsysim.price.001",
                      .message = fmt::format("an axis of a torus is above a switch in '{}'", node_.name),
                      .key = stated.name,
                      .expected = "the axes of a torus innermost, below every switched level",
                      .hint = "list the axes first"});
  }
  [[noreturn]] void refuse_product(const std::string& machine, double expected) const {
    throw InputError({.id = "mlsysim.price.002",
                      .message = fmt::format("the levels of '{}' do not join its devices", machine),
                      .key = "levels",
                      .found = fmt::format("{} devices by the peers of its levels", devices_),
                      .expected = fmt::format("{}, as it has", expected),
                      .hint = "the product of all peers is the number of devices"});
  }
  [[noreturn]] void refuse_depth() const {
    throw InputError({.id = "mlsysim.price.003",
                      .message = fmt::format("'{}' has too many levels", fleet_.name),
                      .key = "levels",
                      .expected = fmt::format("at most {}, the innermost included", Links<>::most_levels),
                      .hint = "join levels of equal links"});
  }

  const Fleet& fleet_;
  const Node& node_;
  const HardwareNode& hardware_;
  const Conventions& c_;
  Notes& notes_;
  Links<>& l_;
  double devices_ = 1, joined_ = 1;
};

}  // namespace

std::string_view collective_way(const Op<>& op, const Links<>& links) {
  if (op.collective == Collective::point_to_point || op.collective == Collective::all_to_all) return "direct";
  const Spread<> s = spread_of(op.ranks, op.stride, links);
  if (s.nodes <= 1) return "inside";
  const Bandwidth<> link = inside_rate(s.inner, op.stride, links);
  const auto ways = ways_of(op, s, reduce_or_gather_inside(op, s.inner, link, links), link, links);
  const auto algorithm = algorithm_of(op.collective, links.form.algorithm);
  if (algorithm == CollectiveAlgorithm::flat) return "flat";
  return algorithm == CollectiveAlgorithm::nested || ways.nested <= ways.flat ? "nested" : "flat";
}

Links<> links_view(const HardwareNode& hardware, double devices, const Conventions& c, Notes& notes,
                   Phase phase) {
  Links<> l;
  l.level1.peers = devices;
  set_inside(l, std::nullopt, hardware, c, notes);
  l.level2.bandwidth = c.fabric_bandwidth;
  l.level2.latency = c.inter_latency;
  l.level2.share = c.network_share;
  l.level2.in_flight = c.network_in_flight;
  if (devices > 1) notes.assume("per_node", devices, "all devices taken to share one node");
  set_collectives(l, nullptr, hardware, c, notes, phase);
  return l;
}

Links<> bare_links_view(const Fleet& fleet, const Conventions& c, Notes& notes) {
  Links<> l;
  l.mesh = fleet.node->accelerator->device_link.peers.value_or(1);
  Ladder ladder{fleet, c, notes, l};
  ladder.inside();
  ladder.between();
  return l;
}

Links<> links_view(const Fleet& fleet, const Conventions& c, Notes& notes, Phase phase) {
  Links<> l;
  Ladder ladder{fleet, c, notes, l};
  set_collectives(l, fleet.node, *fleet.node->accelerator, c, notes, phase);
  ladder.inside();
  ladder.between();
  if (fleet.count > 1)
    notes.assume("all_reduce", "the fastest of rings, double binary trees and switches that add up",
                 "hu2025nccl");
  return l;
}

}  // namespace mlsysim
