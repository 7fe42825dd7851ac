#include "resolvers/shared/figures.hpp"

#include <mlsysim/resolver_api/detail/name_list.hpp>
#include <mlsysim/resolver_api/search.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/models/economics.hpp>
#include <mlsysim/resolvers/optimizers/placement.hpp>
#include <mlsysim/timing/views.hpp>

namespace mlsysim {
namespace {

/// The grids that are compared. @param usual those compared when none is named; empty: all
std::vector<const GridProfile*> grids_of(const PlacementOptimizer::Inputs& in, std::string_view usual) {
  const Zoo& zoo = standard_zoo();
  const std::string_view names = in.regions.empty() ? usual : std::string_view(in.regions);
  if (names.empty()) {
    const auto all = zoo.all<GridProfile>();
    return {all.begin(), all.end()};
  }
  std::vector<const GridProfile*> out;
  for (const auto name : names_in(names)) out.push_back(&zoo.at<GridProfile>(name));
  if (out.empty())
    throw InputError({.id = "mlsysim.catalogue.074",
                      .message = "the list of regions names none",
                      .key = "regions",
                      .found = "'" + in.regions + "'",
                      .expected = "names of grids, separated by commas",
                      .hint = "leave it out for every grid of the zoo"});
  return out;
}

/// Scope of a comparison between regions.
struct PlacementScope {
  std::string_view regions;     ///< names with commas where nobody names any; empty: every grid
  bool regional_prices = true;  ///< electricity costs what it costs there
  bool embodied = true;         ///< making the devices counts
};

PlacementScope scope_of(Fidelity fidelity) {
  if (fidelity == Fidelity::textbook) return {"US_Avg,Quebec,Iowa", false, false};
  return {};
}

/// Costs and emissions of a fleet on the grids of a request.
struct Regions {
  const PlacementOptimizer::Inputs& in;
  PlacementScope scope;
  MoneyPerEnergy<> convention;  ///< price of electricity

  [[nodiscard]] EconomicsModel::Result cost(const GridProfile& grid, Notes& notes) const {
    return EconomicsModel{}.solve(
        {.fleet = in.fleet,
         .duration_days = in.duration_days,
         .kwh_price = scope.regional_prices ? std::nullopt : std::optional(convention),
         .grid = &grid,
         .mfu = in.mfu,
         .utilization = in.utilization,
         .conventions = in.conventions},
        notes);
  }
  /// Making the devices emits the same in every region.
  [[nodiscard]] Carbon<> gases(const EconomicsModel::Result& cost, const GridProfile& grid) const {
    return scope.embodied ? cost.carbon_footprint : cost.total_energy * grid.carbon_intensity;
  }
};

}  // namespace

std::optional<PlacementOptimizer::Result> PlacementOptimizer::solve(const Inputs& in, Search& search,
                                                                    Notes& notes) const {
  const Fidelity fidelity = fidelity_or_operators(in.fidelity);
  const auto tax = in.carbon_price ? *in.carbon_price
                                   : detail::figure<dim::money_per_carbon>("catalogue.carbon.price", notes);
  const Regions regions{in, scope_of(fidelity), conventions_or_standard(in.conventions).electricity_price};
  Notes quiet;
  const auto grids = grids_of(in, regions.scope.regions);
  const auto found = search.minimize(grids, [&](const GridProfile& grid) -> Score {
    const auto cost = regions.cost(grid, quiet);
    // A price that is not known is the same everywhere: without it the best region stays the best.
    return {cost.tco.value_or(cost.opex_energy) + regions.gases(cost, grid) * tax, {}};
  });
  if (!found) return std::nullopt;
  const GridProfile& grid = *found;
  if (!regions.scope.regional_prices) notes.assume("kwh_price", regions.convention, kDefaults);
  const auto cost = regions.cost(grid, notes);
  Result r{found.summary};
  r.fidelity = fidelity;
  r.best_region = grid.name;
  r.tco = cost.tco;
  r.carbon_footprint = regions.gases(cost, grid);
  r.carbon_cost = r.carbon_footprint * tax;
  if (cost.tco) r.total_cost = *cost.tco + r.carbon_cost;
  r.kwh_price = cost.total_energy > Energy<>() ? cost.opex_energy / cost.total_energy : regions.convention;
  r.pue = cost.pue;
  return r;
}

}  // namespace mlsysim
