#pragma once
/// How networks are cut and shared.

#include <mlsysim/physics/routing.hpp>
#include <mlsysim/price/figures.hpp>
#include <mlsysim/spec/conventions.hpp>
#include <mlsysim/spec/system.hpp>
#include <mlsysim/spec/views.hpp>

namespace mlsysim {

/// Shapes of a network.
enum class Topology : std::uint8_t { fat_tree, dragonfly, torus_3d, torus_2d, mesh_2d, ring };
template <> struct Choices<Topology> {
  static constexpr std::string_view what = "topology";
  static constexpr std::array<std::string_view, 6> names{"fat_tree", "dragonfly", "torus_3d",
                                                         "torus_2d", "mesh_2d",   "ring"};
};

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

class NetworkRules {
 public:
  NetworkRules() = default;
  NetworkRules(const NetworkRules&) = delete;
  NetworkRules& operator=(const NetworkRules&) = delete;
  virtual ~NetworkRules() = default;

  [[nodiscard]] virtual NetworkCut cut(const NetworkShape& shape, const Figures& figures) const = 0;
  [[nodiscard]] virtual FleetRoof fleet_roof(const FleetStep& step, Notes& notes) const = 0;

  /// Load of the fullest expert over the mean where nobody says it; noted.
  [[nodiscard]] virtual double imbalance(const ExpertLoad::Result<double>& chance, Notes& notes) const = 0;
  /// How much more a token costs where its experts have `uneven` times the mean load.
  [[nodiscard]] virtual double dearer(double uneven, Params<> routed, Params<> active) const = 0;
  /// What a rank sends to the experts, of all tokens.
  [[nodiscard]] virtual Data<> rank_message(Data<> all, double ranks) const = 0;
  /// Time of the tokens' travel over `layers` layers of experts.
  [[nodiscard]] virtual Time<> travel(Data<> message, double ranks, double layers, const Fleet& fleet,
                                      const Conventions& conventions, Notes& notes) const = 0;
};

}  // namespace mlsysim
