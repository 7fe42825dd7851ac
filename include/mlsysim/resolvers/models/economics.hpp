#pragma once
/// Total cost of ownership of a fleet over a period (wall 17).
///
///   tco = capex + energy x kwh_price + maintenance
///   capex = purchase time / lifetime      maintenance = purchase maintenance_share time / 1 year
///   purchase = accelerators unit_cost infrastructure_multiplier
///
/// energy: facility energy of SustainabilityModel [kWh]. lifetime: amortization period.
/// Limits: straight-line depreciation, one flat price. Network, staff and buildings enter through the
/// multiplier.
/// Example: 8 devices of 1 kW and 10,950 USD over 3 years, for 10 days: 800 USD capex, 5 % a year = 120 USD
/// maintenance, 8 kW x 240 h x PUE 1.12 x 0.10 USD/kWh = 215 USD, 1135 USD in all.
/// @cite barroso2018datacenter, chapter 6

#include <mlsysim/resolvers/models/sustainability.hpp>
#include <mlsysim/resolvers/row_groups.hpp>
#include <mlsysim/specs/conventions.hpp>

namespace mlsysim {

/// Capital, energy and maintenance of a fleet in one region.
struct EconomicsModel : Model<EconomicsModel> {
  static constexpr std::string_view id = "EconomicsModel";
  static constexpr std::string_view about = "total cost of a fleet over a period";
  static constexpr std::string_view law = "tco = purchase time / lifetime + energy price + maintenance";
  static constexpr std::string_view source = "barroso2018datacenter";
  static constexpr std::array walls{17};
  static constexpr std::array fallacies{
      Fallacy{"Electricity dominates the cost of an accelerator fleet.",
              "At data-center prices the purchase is several times the electricity of its lifetime."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Fleet* fleet = nullptr;
    double duration_days = 0;
    std::optional<MoneyPerEnergy<>> kwh_price{};
    const Datacenter* datacenter = nullptr;
    const GridProfile* grid = nullptr;
    double mfu = 1;
    std::optional<double> utilization{};
    std::optional<Money<>> unit_cost{};
    std::optional<double> amortization_years{};
    double infrastructure_multiplier = 1;
    std::optional<Power<>> host_power{}, network_power{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(
          rows(field(&I::fleet, key::fleet), field(&I::duration_days, key::duration_days),
               field(&I::kwh_price, key::kwh_price)
                   .non_negative()
                   .defaulted("industrial price of the grid where the zoo has it, else zoo/defaults.yaml"),
               field(&I::datacenter, key::datacenter).defaulted("the fleet's, else none"),
               field(&I::grid, key::grid).defaulted("the facility's or the fleet's, else US_Avg"),
               field(&I::mfu, key::mfu).defaulted("fully loaded"),
               field(&I::utilization, key::utilization).defaulted("as mfu"),
               field(&I::unit_cost, "unit_cost", "USD", "price of one device")
                   .non_negative()
                   .defaulted("the device's own figure"),
               field(&I::amortization_years, key::amortization_years).defaulted(kDefaults.view()),
               field(&I::infrastructure_multiplier, key::infrastructure_multiplier)
                   .at_least(1)
                   .defaulted("the devices alone")),
          host_rows<I>("none: the devices alone, convention of MLSys-im",
                       "none: the devices alone, convention of MLSys-im"),
          rows(field(&I::conventions, key::conventions).defaulted(kDefaults.view())));
    }
  };
  struct Result {
    std::optional<Money<>> capex{}, opex_maintenance{}, total_opex{},
        tco{};  ///< absent where no price is known
    Money<> opex_energy;
    Energy<> it_energy, total_energy;
    Carbon<> carbon_footprint;
    Water<> water_usage;
    double pue = 1;
    std::string region_name;

    template <class R = Result> static constexpr auto fields() {
      return rows(field(&R::capex, key::capex), field(&R::opex_energy, key::opex_energy),
                  field(&R::opex_maintenance, key::opex_maintenance), field(&R::total_opex, key::total_opex),
                  field(&R::tco, key::tco),
                  field(&R::it_energy, "it_energy", "kWh", "energy of the IT equipment"),
                  field(&R::total_energy, "total_energy", "kWh", "energy of the facility"),
                  field(&R::carbon_footprint, "carbon_footprint", "kgCO2e", "operational and embodied"),
                  field(&R::water_usage, "water_usage", "L", "water used on site"),
                  field(&R::pue, "pue", "", "facility energy over IT energy"),
                  field(&R::region_name, "region_name", "", "grid that was charged"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim
