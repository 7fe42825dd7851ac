#pragma once
/// Parts of a system around its nodes: pods, racks and storage.
///
/// Example: a pod of 256 chips with the topology "torus_2d" has the axes 16 and 16, and `node_of` makes it
/// one node with two levels.

#include <mlsysim/specs/system.hpp>

namespace mlsysim {

/// Accelerators that one interconnect joins without a node between them.
struct Pod {
  std::string name;
  const HardwareNode* accelerator = nullptr;
  double chips = 0;
  std::optional<Data<>> memory;
  std::optional<Power<>> power;
  std::string topology;
  std::vector<double> axes;  ///< sides of the torus, innermost first
  const Entry* entry = nullptr;

  template <class P = Pod> static constexpr auto fields() {
    return rows(field(&P::name, "name", "", "key of the pod"),
                field(&P::accelerator, "accelerator", "", "device in the pod"),
                field(&P::chips, "chips", "", "devices in the pod").at_least(1),
                field(&P::memory, "memory", "TB", "memory of all devices").positive(),
                field(&P::power, "power", "MW", "power of the pod").positive(),
                field(&P::topology, "topology", "", "how the devices are joined").defaulted("unstated"),
                field(&P::axes, "axes", "", "sides of the torus, innermost first")
                    .at_least(1)
                    .defaulted("as near to equal as the devices allow"));
  }
};

/// Sides of the torus of a pod: stated, or as near to equal as its devices allow; none without a torus.
[[nodiscard]] std::vector<double> axes_of(const Pod& pod);
/// The pod as one node, of which the axes are the levels.
[[nodiscard]] Node node_of(const Pod& pod);

/// A rack: its power limit, or its nodes.
struct Rack {
  std::string name;
  const Node* node = nullptr;
  std::optional<double> nodes_per_rack, accelerators;
  std::optional<Power<>> power, non_accelerator_power;
  std::string cooling;
  const Entry* entry = nullptr;

  template <class R = Rack> static constexpr auto fields() {
    return rows(field(&R::name, "name", "", "key of the rack"),
                field(&R::node, "node", "", "node type in the rack").defaulted("absent"),
                field(&R::nodes_per_rack, "nodes_per_rack", "", "nodes in the rack").positive(),
                field(&R::accelerators, "accelerators", "", "accelerators in the rack").positive(),
                field(&R::power, "power", "kW", "power that the rack may draw").positive(),
                field(&R::non_accelerator_power, "non_accelerator_power", "kW", "power of everything else")
                    .non_negative(),
                field(&R::cooling, "cooling", "", "air or liquid").defaulted("unstated"));
  }
};

/// A class of storage.
struct StorageTier {
  std::string name;
  std::optional<Bandwidth<>> bandwidth;
  std::optional<Time<>> latency;
  std::optional<double> iops;
  std::optional<double> drives;
  std::string media, interface, durability;
  const Entry* entry = nullptr;

  template <class S = StorageTier> static constexpr auto fields() {
    return rows(field(&S::name, "name", "", "key of the tier"),
                field(&S::bandwidth, "bandwidth", "GB/s", "sequential bandwidth").positive(),
                field(&S::latency, "latency", "us", "access latency").non_negative(),
                field(&S::iops, "iops", "", "random operations per second").positive(),
                field(&S::drives, "drives", "", "drives that the figures are for").positive(),
                field(&S::media, "media", "", "medium").defaulted("unstated"),
                field(&S::interface, "interface", "", "interface").defaulted("unstated"),
                field(&S::durability, "durability", "", "local or durable").defaulted("unstated"));
  }
};

template <> struct ObjectType<Pod> { static constexpr std::string_view name = "pod"; };
template <> struct ObjectType<Rack> { static constexpr std::string_view name = "rack"; };
template <> struct ObjectType<StorageTier> { static constexpr std::string_view name = "storage"; };

}  // namespace mlsysim
