// Three resolvers in C++, one of each tier, as ordinary classes; and a unit.
#include <mlsysim/plugin/mlsysim_plugin.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/units/unit.hpp>

#include <tuple>

namespace {

using namespace mlsysim;

/// Arithmetic per watt of a device.
struct PowerEfficiencyModel : Model<PowerEfficiencyModel> {
  static constexpr std::string_view about = "Compute efficiency per watt of an accelerator";
  static constexpr std::string_view law = "flops_per_watt = compute.peak_flops / power.tdp";
  struct Inputs {
    const HardwareNode* hardware = nullptr;
    MLSYSIM_FIELDS(Inputs, hardware)
  };
  struct Result {
    Efficiency<> flops_per_watt;
    bool is_efficient = false;
    static constexpr auto fields() {
      return rows(field(&Result::flops_per_watt, "flops_per_watt", "TFLOP/s/W", "peak rate over power"),
                  field(&Result::is_efficient, "is_efficient", "", "more than 1 TFLOP/s per watt"));
    }
  };
  Result solve(const Inputs& in) const {
    const auto& hardware = *in.hardware;
    if (!hardware.power.tdp)
      throw InputError({.id = "acme.efficiency.001",
                        .message = hardware.name + " has no TDP specified",
                        .key = "power.tdp",
                        .found = "nothing",
                        .expected = "the power limit of the device",
                        .hint = "set power.tdp"});
    const auto per_watt = hardware.compute.peak_flops() / *hardware.power.tdp;
    return {per_watt, per_watt > 1 * unit::TFLOP / unit::s / unit::W};
  }
};

/// The bandwidth that reads all weights within a latency.
struct RequiredBandwidthSolver : Solver<RequiredBandwidthSolver> {
  static constexpr std::string_view about = "Memory bandwidth that is needed to hit a latency";
  static constexpr std::string_view law = "required_bw = size / target_latency";
  struct Inputs {
    const Workload* workload = nullptr;
    Time<> target_latency;
    static constexpr auto fields() {
      return rows(field(&Inputs::workload, key::workload),
                  field(&Inputs::target_latency, key::target_latency));
    }
  };
  struct Result {
    Bandwidth<> required_bw;
    static constexpr auto fields() {
      return rows(field(&Result::required_bw, "required_bw", "GB/s", "bandwidth that meets it"));
    }
  };
  Result solve(const Inputs& in) const { return {in.workload->size() / in.target_latency}; }
};

/// The cheapest device of the zoo that is fast enough.
struct CheapestHardwareOptimizer : Optimizer<CheapestHardwareOptimizer> {
  static constexpr std::string_view about = "Cheapest device of the zoo with a given peak rate";
  struct Inputs {
    ComputeRate<> min_rate;
    static constexpr auto fields() {
      return rows(field(&Inputs::min_rate, "min_rate", "TFLOP/s", "peak rate that is needed").positive());
    }
  };
  struct Result {
    Money<> cheapest_cost;
    std::string hardware_name;
    double total_searched = 0;
    static constexpr auto fields() {
      return rows(
          field(&Result::cheapest_cost, "cheapest_cost", "USD", "price of the device"),
          field(&Result::hardware_name, "hardware_name", "", "name of the device"),
          field(&Result::total_searched, "total_searched", "", "devices that were looked at").counted());
    }
  };
  std::optional<Result> solve(const Inputs& in, Search&) const {
    const auto devices = plugin::sdk::zoo<HardwareNode>();
    const HardwareNode* best = nullptr;
    for (const auto* device : devices) {
      if (!device->unit_cost || device->compute.dense.empty() ||
          !device->compute.dense[device->compute.default_precision])
        continue;
      // At equal prices the first name wins, so that the answer does not depend on the order of the zoo.
      if (device->compute.peak_flops() >= in.min_rate &&
          (best == nullptr ||
           std::tie(*device->unit_cost, device->name) < std::tie(*best->unit_cost, best->name)))
        best = device;
    }
    if (best == nullptr) return std::nullopt;
    return Result{*best->unit_cost, best->name, static_cast<double>(devices.size())};
  }
};

}  // namespace

MLSYSIM_PLUGIN(({.name = "acme-efficiency",
                 .space = "acme",
                 .version = "1.0.0",
                 .summary = "Efficiency, bandwidth and price of devices",
                 .license = "Apache-2.0",
                 .threads = MLS_THREAD_SAFE,
                 .flags = MLS_PLUGIN_UNLOADABLE,
                 .attributes = {{"language", "C++20"}},
                 .features = {"zoo_search"}})) {
  plugin.unit("wafer", "kUSD", 17, 1, "price of one 5 nm wafer, for rough counts");
  plugin.add<PowerEfficiencyModel>();
  plugin.add<RequiredBandwidthSolver>();
  plugin.add<CheapestHardwareOptimizer>();
}
