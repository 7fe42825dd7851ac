#pragma once
/// Bisection bandwidth of a network between nodes, and the mean number of hops (wall 10).
///
///   effective_bandwidth = bisection / (nodes / 2)      exchange_time = 1 GB / effective_bandwidth
///
/// Operator: bisection = link bandwidth x links across the cut. A torus line crosses the cut twice, a
/// dragonfly is balanced, and a fat tree has as many switch levels as its nodes need. More than full
/// bisection does not count.
/// Textbook: fixed factors of full bisection, with a torus counted as a mesh.
/// Limits: equal links, equal halves. Oversubscription divides the bisection.
/// Example: a ring of 64 nodes with 50 GB/s links: 2 x 50 = 100 GB/s across the cut, 3.1 GB/s per node. A
/// full fat tree has 32 x 50 = 1600 GB/s, 50 GB/s per node.
/// @cite dallytowles2004, section 5.2; leiserson1985fattrees; kim2008dragonfly, section 3.1

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/system.hpp>

namespace mlsysim {

/// Shapes of a network.
enum class Topology : std::uint8_t { fat_tree, dragonfly, torus_3d, torus_2d, mesh_2d, ring };
template <> inline constexpr auto names_of<Topology> = ChoiceNames{"topology"};

/// Bandwidth when every node sends to the other half.
struct TopologyModel : Model<TopologyModel> {
  static constexpr std::string_view id = "TopologyModel";
  static constexpr std::string_view about = "bisection bandwidth and distance of a network";
  static constexpr std::string_view law = "effective_bandwidth = bisection / (nodes / 2)";
  static constexpr std::string_view source = "dallytowles2004";
  static constexpr std::array walls{10};
  static constexpr std::array fallacies{
      Fallacy{"The port speed is the network speed.",
              "Traffic between halves shares the links of the cut; a ring of any size has two."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const NetworkFabric* fabric = nullptr;
    const Fleet* fleet = nullptr;
    std::optional<Topology> topology{};
    std::optional<double> num_nodes{};
    std::optional<double> switch_ports{};
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return rows(field(&I::fabric, key::fabric).defaulted("the fleet's own"),
                  field(&I::fleet, key::fleet).defaulted("a network alone"),
                  field(&I::topology, "topology", "", "shape of the network").defaulted("the fabric's own"),
                  field(&I::num_nodes, "num_nodes", "", "end points of the network")
                      .at_least(2)
                      .counted()
                      .defaulted("those of the fleet, or 64, convention of MLSys-im"),
                  field(&I::switch_ports, "switch_ports", "", "ports of one switch (fat tree)")
                      .at_least(2)
                      .counted()
                      .defaulted("the zoo: catalogue.topology.switch_ports"),
                  field(&I::fidelity, key::fidelity).defaulted("operator: links of the cut"),
                  field(&I::conventions, key::conventions).defaulted(kDefaults.view()));
    }
  };
  struct Result {
    Bandwidth<> effective_bandwidth, bisection_bandwidth;
    double bisection_fraction = 0, hops_avg = 0;
    Time<> exchange_time;
    Topology topology = Topology::fat_tree;
    double num_nodes = 0;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::effective_bandwidth, "effective_bandwidth", "GB/s",
                "per node, when all nodes send across the middle"),
          field(&R::bisection_bandwidth, "bisection_bandwidth", "GB/s", "across the middle, one way"),
          field(&R::bisection_fraction, "bisection_fraction", "",
                "over that of a network without bottleneck"),
          field(&R::hops_avg, "hops_avg", "", "links between two nodes, on average"),
          field(&R::exchange_time, "exchange_time", "ms", "all nodes exchange 1 GB each with the other half"),
          field(&R::topology, "topology", "", "shape of the network"),
          field(&R::num_nodes, "num_nodes", "", "end points of the network"),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim
