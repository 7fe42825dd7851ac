#include "detail/figures.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/economics.hpp>
#include <mlsysim/catalogue/optimizers/placement.hpp>
#include <mlsysim/price/views.hpp>
#include <mlsysim/resolve/name_list.hpp>

namespace mlsysim {
namespace {

/// A grid with the facility that belongs to it, and the price of electricity where it is not the grid's own.
struct Region {
  std::string name;
  const GridProfile* grid = nullptr;
  const Datacenter* facility = nullptr;
  std::optional<MoneyPerEnergy<>> price;
};

std::vector<const GridProfile*> grids_of(const PlacementOptimizer::Inputs& in, bool textbook) {
  const Zoo& zoo = standard_zoo();
  if (in.regions.empty() && !textbook) {
    const auto all = zoo.all<GridProfile>();
    return {all.begin(), all.end()};
  }
  std::vector<const GridProfile*> out;
  for (const auto name : names_in(in.regions.empty() ? std::string_view("US_Avg,Quebec,Iowa") : std::string_view(in.regions)))
    out.push_back(&zoo.at<GridProfile>(name));
  if (out.empty())
    throw InputError({.id = "mlsysim.catalogue.074",
                      .message = "the list of regions names none",
                      .key = "regions",
                      .found = "'" + in.regions + "'",
                      .expected = "names of grids, separated by commas",
                      .hint = "leave it out for every grid of the zoo"});
  return out;
}

/// @param price of every region; absent: each at its own
Region region_of(const GridProfile& grid, std::optional<MoneyPerEnergy<>> price) {
  // The Python package gives each grid a PUE; the facilities of these names keep those figures.
  return {.name = grid.name, .grid = &grid, .facility = standard_zoo().find<Datacenter>(grid.name + "_Facility"), .price = price};
}

EconomicsModel::Result cost_in(const PlacementOptimizer::Inputs& in, const Region& region, Notes& notes) {
  return EconomicsModel{}.solve({.fleet = in.fleet,
                                 .duration_days = in.duration_days,
                                 .kwh_price = region.price,
                                 .datacenter = region.facility,
                                 .grid = region.grid,
                                 .mfu = in.mfu,
                                 .utilization = in.utilization,
                                 .conventions = in.conventions},
                                notes);
}

}  // namespace

std::optional<PlacementOptimizer::Result> PlacementOptimizer::solve(const Inputs& in, Search& search,
                                                                    Notes& notes) const {
  const Fidelity fidelity = detail::refined_by_default(in.fidelity);
  const bool textbook = fidelity == Fidelity::textbook;
  const auto tax = in.carbon_price ? *in.carbon_price
                                   : detail::figure<dim::money_per_carbon>("catalogue.carbon.price", notes);
  std::vector<Region> regions;
  std::optional<MoneyPerEnergy<>> one_price;
  if (textbook) one_price = conventions_or_standard(in.conventions).electricity_price;
  for (const auto* grid : grids_of(in, textbook)) regions.push_back(region_of(*grid, one_price));
  Notes quiet;
  // The textbook leaves the making of the devices out; it is the same in every region.
  const auto gases = [&](const EconomicsModel::Result& cost, const Region& region) {
    return textbook ? cost.total_energy * region.grid->carbon_intensity : cost.carbon_footprint;
  };
  const auto found = search.minimize(regions, [&](const Region& region) -> Score {
    const auto cost = cost_in(in, region, quiet);
    return {cost.tco + gases(cost, region) * tax, {}};
  });
  if (!found) return std::nullopt;
  const auto cost = cost_in(in, *found, notes);
  Result r{found.summary};
  r.fidelity = fidelity;
  r.best_region = found->name;
  r.tco = cost.tco;
  r.carbon_footprint = gases(cost, *found);
  r.carbon_cost = r.carbon_footprint * tax;
  r.total_cost = r.tco + r.carbon_cost;
  r.kwh_price = cost.total_energy > Energy<>() ? cost.opex_energy / cost.total_energy
                                              : conventions_or_standard(in.conventions).electricity_price;
  r.pue = cost.pue;
  return r;
}

}  // namespace mlsysim
