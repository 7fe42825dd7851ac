#pragma once
/// Energy, greenhouse gas emissions and water of a fleet over a period (wall 18).
///
///   power  = accelerators (TDP (idle + (1 - idle) utilization) + host_power + network_power)
///   carbon = power time PUE intensity + accelerators embodied_carbon time / lifetime
///   water  = power time WUE
///
/// idle: idle power over TDP. intensity: emissions of the grid [kg/kWh]. embodied_carbon: manufacture of a
/// device [kg].
/// Limits: storage is not counted, and host power does not follow the load. WUE applies to IT energy.
/// Example: 256 H100 of 700 W at 40 % load, idle 0.3, for 30 days: 74,834 kWh. PUE 1.12 gives 83,814 kWh, and
/// the average US grid 35,956 kg.
/// @cite patterson2021carbon, section 2; gupta2022act, eq. (1); barroso2018datacenter

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolvers/row_groups.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/infrastructure.hpp>
#include <mlsysim/specs/system.hpp>

namespace mlsysim {

/// Footprint of a fleet in one region.
struct SustainabilityModel : Model<SustainabilityModel> {
  static constexpr std::string_view id = "SustainabilityModel";
  static constexpr std::string_view about = "energy, greenhouse gases and water of a fleet over a period";
  static constexpr std::string_view law = "carbon = power time PUE intensity + embodied time / lifetime";
  static constexpr std::string_view source = "patterson2021carbon";
  static constexpr std::array walls{18};
  static constexpr std::array fallacies{Fallacy{"An efficient model is a clean one.",
                                                "The grid's carbon intensity spans a factor of fifty between "
                                                "regions; where a job runs matters more than how."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Fleet* fleet = nullptr;
    double duration_days = 0;
    const Datacenter* datacenter = nullptr;
    const GridProfile* grid = nullptr;
    double mfu = 1;
    std::optional<double> utilization{};
    std::optional<Carbon<>> embodied_carbon_per_device{};
    std::optional<double> amortization_years{};
    std::optional<Power<>> host_power{}, network_power{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(rows(field(&I::fleet, key::fleet), field(&I::duration_days, key::duration_days),
                       field(&I::datacenter, key::datacenter).defaulted("the fleet's, else none"),
                       field(&I::grid, key::grid).defaulted("the facility's or the fleet's, else US_Avg"),
                       field(&I::mfu, key::mfu).defaulted("fully loaded"),
                       field(&I::utilization, key::utilization).defaulted("as mfu"),
                       field(&I::embodied_carbon_per_device, "embodied_carbon_per_device", "kgCO2e",
                             "manufacture of one device")
                           .non_negative()
                           .defaulted("the device's own figure"),
                       field(&I::amortization_years, key::amortization_years).defaulted(kDefaults.view())),
                  host_rows<I>("none: the devices alone, convention of MLSys-im",
                               "none: the devices alone, convention of MLSys-im"),
                  rows(field(&I::conventions, key::conventions).defaulted(kDefaults.view())));
    }
  };
  struct Result {
    Energy<> it_energy, total_energy;
    Carbon<> carbon_footprint, operational_carbon;
    std::optional<Carbon<>>
        embodied_carbon;  ///< absent where it is not known; the footprint is then that of the electricity
    Water<> water_usage;
    Power<> power;
    double pue = 1;
    std::string region_name;

    template <class R = Result> static constexpr auto fields() {
      return rows(field(&R::it_energy, key::it_energy), field(&R::total_energy, key::total_energy),
                  field(&R::carbon_footprint, key::carbon_footprint),
                  field(&R::operational_carbon, key::operational_carbon),
                  field(&R::embodied_carbon, key::embodied_carbon), field(&R::water_usage, key::water_usage),
                  field(&R::power, "power", "kW", "mean power of all accelerators, hosts and switches"),
                  field(&R::pue, "pue", "", "facility energy over IT energy"),
                  field(&R::region_name, key::region_name));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim
