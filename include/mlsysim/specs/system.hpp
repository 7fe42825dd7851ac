#pragma once
/// Nodes, fabrics and fleets: machines built from devices and networks.
///
///     total_accelerators = node count * accelerators_per_node
///
/// Example: 4 nodes with 8 accelerators each are a fleet of 32.

#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/links.hpp>

namespace mlsysim {

struct GridProfile;
struct Datacenter;

/// A host with its accelerators.
struct Node {
  std::string name;
  const HardwareNode* accelerator = nullptr;
  double accelerators_per_node = 1;
  std::optional<Bandwidth<>> intra_node_bandwidth;  ///< one way, per accelerator
  std::string intra_node_topology;
  std::optional<double> nics_per_node;
  std::optional<Bandwidth<>> nic_bandwidth;  ///< one way, per adapter
  std::optional<double> psus_per_node;
  std::string rental;  ///< price of the zoo at which a node is rented for an hour: a cloud instance
  std::string host_cpu;
  std::optional<Data<>> host_memory;
  std::string local_storage;
  std::optional<double>
      domain_accelerators;  ///< accelerators that one inner network joins, also across nodes
  std::optional<Bandwidth<>> pair_bandwidth;  ///< one way, between two accelerators of a mesh
  CollectiveTimes collectives;                ///< measured in this node, before those of its devices
  std::optional<double> link_share;           ///< sustained share of the inner link, likewise
  std::vector<LinkLevel> levels;              ///< inside the node, innermost first; none: one
  bool reference = false;                     ///< the machine in which the accelerator ships
  const Entry* entry = nullptr;

  template <class N = Node> static constexpr auto fields() {
    return rows(
        field(&N::name, "name", "", "key of the node"),
        field(&N::accelerator, "accelerator", "", "device in the node"),
        field(&N::accelerators_per_node, "accelerators_per_node", "", "devices in the node").at_least(1),
        field(&N::intra_node_bandwidth, "intra_node_bandwidth", "GB/s", "one way, per accelerator")
            .positive(),
        field(&N::intra_node_topology, "intra_node_topology", "", "how the devices are joined")
            .defaulted("unstated"),
        field(&N::nics_per_node, "nics_per_node", "", "network adapters").positive(),
        field(&N::nic_bandwidth, "nic_bandwidth", "Gbit/s", "one way, per adapter").positive(),
        field(&N::psus_per_node, "psus_per_node", "", "power supplies").positive(),
        field(&N::rental, "rental", "", "price of the zoo at which a node is rented").defaulted("not rented"),
        field(&N::host_cpu, "host_cpu", "", "host processor").defaulted("unstated"),
        field(&N::host_memory, "host_memory", "TB", "host memory").positive(),
        field(&N::local_storage, "local_storage", "", "local storage, in words").defaulted("unstated"),
        field(&N::domain_accelerators, "domain_accelerators", "", "devices that one inner network joins")
            .at_least(1),
        field(&N::pair_bandwidth, "pair_bandwidth", "GB/s", "between two devices of a mesh, one way")
            .positive(),
        field(&N::collectives, "collectives", "", "collectives measured in this node, before its devices'")
            .defaulted("absent"),
        field(&N::link_share, "link_share", "", "sustained share of the link inside, before its devices'")
            .within(0.001, 1),
        field(&N::levels, "levels", "", "what joins the devices, innermost first").defaulted("one level"),
        field(&N::reference, "reference", "", "the machine in which the accelerator ships").defaulted("no"));
  }
};

/// Whether devices reach each other over the bus of their host: as the node says, else where a device has no
/// link of its own.
[[nodiscard]] inline bool joined_by_bus(const HardwareNode& device, const Node* node) {
  if (node != nullptr && !node->intra_node_topology.empty()) return node->intra_node_topology == "pcie";
  return !device.device_link.bandwidth;
}

/// The network between nodes.
struct NetworkFabric {
  std::string name;
  std::string topology;
  std::optional<Bandwidth<>> bandwidth;  ///< one way, per port
  std::optional<Time<>> latency;         ///< end to end, one message
  double oversubscription = 1;
  std::optional<double> share;      ///< share of the bandwidth that a long message sustains
  std::optional<Data<>> in_flight;  ///< bytes that a device may have in flight
  bool reduces = false;             ///< its switches add up what their ports send
  const Entry* entry = nullptr;

  template <class F = NetworkFabric> static constexpr auto fields() {
    return rows(
        field(&F::name, "name", "", "key of the fabric"),
        field(&F::topology, "topology", "", "shape of the network").defaulted("unstated"),
        field(&F::bandwidth, "bandwidth", "GB/s", "one way, per port").positive(),
        field(&F::latency, "latency", "us", "end-to-end latency of one message").non_negative(),
        field(&F::oversubscription, "oversubscription", "", "edge over core bandwidth")
            .at_least(1)
            .defaulted("1"),
        field(&F::share, "share", "", "sustained share of the bandwidth").within(0.01, 1),
        field(&F::in_flight, "in_flight", "MB", "bytes of a device that are on their way at once").positive(),
        field(&F::reduces, "reduces", "", "its switches add up what their ports send").defaulted("no"));
  }
};

/// Equal nodes joined by a fabric.
struct Fleet {
  std::string name;
  const Node* node = nullptr;
  double count = 1;  ///< nodes
  const NetworkFabric* fabric = nullptr;
  std::vector<LinkLevel> levels;  ///< between the nodes, innermost first; none: one, the fabric
  const GridProfile* grid = nullptr;
  const Datacenter* datacenter = nullptr;
  std::optional<double> stated_accelerators;  ///< as the source counts them; must agree with the nodes
  const Entry* entry = nullptr;

  [[nodiscard]] double total_accelerators() const {
    return node == nullptr ? 0 : count * node->accelerators_per_node;
  }

  template <class F = Fleet> static constexpr auto fields() {
    return rows(
        field(&F::name, "name", "", "key of the fleet"), field(&F::node, "node", "", "node type"),
        field(&F::count, "node_count", "", "nodes").at_least(1),
        field(&F::fabric, "fabric", "", "network between the nodes"),
        field(&F::levels, "levels", "", "what joins the nodes, innermost first").defaulted("one level"),
        field(&F::grid, "grid", "", "electricity").defaulted("absent"),
        field(&F::datacenter, "datacenter", "", "facility").defaulted("absent"),
        field(&F::stated_accelerators, "total_accelerators", "", "accelerators, as the source counts them")
            .at_least(1));
  }
};

template <> struct ObjectType<Node> { static constexpr std::string_view name = "node"; };
template <> struct ObjectType<NetworkFabric> { static constexpr std::string_view name = "fabric"; };
template <> struct ObjectType<Fleet> { static constexpr std::string_view name = "fleet"; };

}  // namespace mlsysim
