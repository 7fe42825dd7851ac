#pragma once
/// Data, budgets and places: what of a request decides.

#include <mlsysim/price/figures.hpp>
#include <mlsysim/spec/system.hpp>

namespace mlsysim {

/// What limits the supply of data.
enum class DataPath : std::uint8_t { none, storage, shared_storage, host_link };
template <> struct Choices<DataPath> {
  static constexpr std::string_view what = "data path";
  static constexpr std::array<std::string_view, 4> names{"none", "storage", "shared_storage", "host_link"};
};

/// Where training data lie.
struct DataStores {
  const HardwareNode& hardware;
  const Fleet* fleet;
  std::optional<Data<>> dataset, cache;
  std::optional<Bandwidth<>> cache_bandwidth, shared_bandwidth;
};

struct DataSupply {
  Bandwidth<> rate;
  DataPath limit = DataPath::none;
  double hit_ratio = 1, nodes = 1;
};

/// Published fits of the loss.
enum class LossFit : std::uint8_t { besiroglu, hoffmann };
template <> struct Choices<LossFit> {
  static constexpr std::string_view what = "fit of the loss";
  static constexpr std::array<std::string_view, 2> names{"besiroglu", "hoffmann"};
};

/// Arithmetic to train with.
struct TrainingBudget {
  Work<> work;
  std::optional<Params<>> params{};         ///< a fixed size
  std::optional<Tokens<>> served_tokens{};  ///< of its service life
  LossFit fit = LossFit::besiroglu;
};

/// What it buys.
struct TrainedModel {
  Params<> params;
  Tokens<> tokens;
  Work<> work;
  std::optional<double> loss{};
};

/// What is compared between regions.
struct PlacementScope {
  std::string_view regions;     ///< names with commas where nobody names any; empty: every grid
  bool regional_prices = true;  ///< electricity costs what it costs there
  bool embodied = true;         ///< making the devices counts
};

class PlanningRules {
 public:
  PlanningRules() = default;
  PlanningRules(const PlanningRules&) = delete;
  PlanningRules& operator=(const PlanningRules&) = delete;
  virtual ~PlanningRules() = default;

  [[nodiscard]] virtual DataSupply supply(const DataStores& stores, Notes& notes) const = 0;
  [[nodiscard]] virtual TrainedModel best_model(const TrainingBudget& budget,
                                                const Figures& figures) const = 0;
  /// Private over plain training time where epsilon alone decides it; absent where the way of clipping does.
  [[nodiscard]] virtual std::optional<double> privacy_slowdown(double epsilon,
                                                               const Figures& figures) const = 0;
  [[nodiscard]] virtual PlacementScope placement() const = 0;
  /// Share of the time in which a device that answers draws its full power. @param utilization in which it
  /// runs kernels
  [[nodiscard]] virtual double drawn(double utilization) const = 0;
};

}  // namespace mlsysim
