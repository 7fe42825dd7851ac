#pragma once
/// Region where a fleet costs least, with a price on carbon (walls 17 and 18).
///
///   min over regions of tco + carbon_price carbon_footprint
///
/// Textbook: US_Avg, Quebec and Iowa at one electricity price. Operator: every grid of the zoo or the named
/// ones, with regional industrial electricity prices where the zoo has them.
/// Limits: the facility and its PUE are the fleet's own in every region.
/// Example: Research_256 for 30 days (textbook): Quebec with 259,602 USD = 210,411 capital + 31,562
/// maintenance + 129,024 kWh x 1.12 x 0.122 USD. US_Avg costs 265,513 USD and Iowa 269,140 USD.
/// @cite barroso2018datacenter, chapter 6; patterson2021carbon, section 2

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/system.hpp>

namespace mlsysim {

/// Searches grids with EconomicsModel.
struct PlacementOptimizer : Optimizer<PlacementOptimizer> {
  static constexpr std::string_view id = "PlacementOptimizer";
  static constexpr std::string_view about = "region where a fleet costs least, carbon included";
  static constexpr std::string_view law = "min tco + carbon_price carbon";
  static constexpr std::string_view source = "patterson2021carbon";
  static constexpr std::array walls{17, 18};
  static constexpr std::array fallacies{Fallacy{
      "Carbon pricing moves the fleet.",
      "At 100 USD a tonne carbon is a few percent of the cost; the accelerators dominate everywhere."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Fleet* fleet = nullptr;
    double duration_days = 0;
    std::string regions{};
    std::optional<Quantity<dim::money_per_carbon>> carbon_price{};
    double mfu = 1;
    std::optional<double> utilization{};
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return rows(field(&I::fleet, key::fleet), field(&I::duration_days, key::duration_days),
                  field(&I::regions, "regions", "", "names of grids, separated by commas")
                      .defaulted("US_Avg, Quebec, Iowa (textbook) or every grid (operator)"),
                  field(&I::carbon_price, "carbon_price", "USD/tCO2e", "price of greenhouse gases")
                      .non_negative()
                      .defaulted("the zoo: catalogue.carbon.price"),
                  field(&I::mfu, key::mfu).defaulted("fully loaded"),
                  field(&I::utilization, key::utilization).defaulted("as mfu"),
                  field(&I::fidelity, key::fidelity).defaulted("operator: regional prices"),
                  field(&I::conventions, key::conventions).defaulted(kDefaults.view()));
    }
  };
  struct Result {
    SearchSummary search;
    std::string best_region;
    std::optional<Money<>> total_cost, tco;  ///< absent where the price of a device is not known
    Money<> carbon_cost;
    Carbon<> carbon_footprint;
    MoneyPerEnergy<> kwh_price;
    double pue = 1;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::search, "search", "", "what was tried"),
          field(&R::best_region, "best_region", "", "grid of the cheapest region"),
          field(&R::total_cost, "total_cost", "USD", "cost with carbon"),
          field(&R::tco, "tco", "USD", "cost without carbon, in that region"),
          field(&R::carbon_cost, "carbon_cost", "USD", "greenhouse gases at their price"),
          field(&R::carbon_footprint, "carbon_footprint", "kgCO2e", "greenhouse gases in that region"),
          field(&R::kwh_price, key::kwh_price),
          field(&R::pue, "pue", "", "facility energy over IT energy there"),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] std::optional<Result> solve(const Inputs& in, Search& search, Notes& notes) const;
};

}  // namespace mlsysim
