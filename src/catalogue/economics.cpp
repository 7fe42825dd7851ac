#include <mlsysim/catalogue/prepare.hpp>
#include <mlsysim/table/take_fields.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace mlsysim {
namespace {

constexpr std::string_view kDefaults = "zoo/defaults.yaml";

/// Grid and facility of a request. PUE and WUE belong to a facility: the one that is named or the fleet's own. A grid alone
/// has neither, so the conventions stand in.
const GridProfile& set_place(const EconomicsModel::Inputs& in, const Conventions& c, Facility<>& f, Notes& notes) {
  const Datacenter* facility = in.datacenter != nullptr ? in.datacenter : in.fleet->datacenter;
  const GridProfile* grid = in.grid;
  if (grid == nullptr && facility != nullptr) grid = facility->grid;
  if (grid == nullptr) grid = in.fleet->grid;
  if (grid == nullptr) {
    grid = &standard_zoo().at<GridProfile>("US_Avg");
    notes.assume("grid", grid->name, "no grid was named");
  }
  f.carbon_intensity = grid->carbon_intensity;
  f.pue = facility != nullptr ? facility->pue : c.pue;
  if (facility == nullptr) notes.assume("pue", c.pue, kDefaults);
  const bool known = facility != nullptr && facility->wue;
  f.wue = known ? *facility->wue : c.wue;
  if (!known) notes.assume("wue", c.wue, kDefaults);
  return *grid;
}

/// Price of electricity on a grid: the industrial price of its state where the zoo has one, else the convention.
MoneyPerEnergy<> electricity_price(std::string_view grid, const Conventions& c, Notes& notes) {
  std::string state(grid.substr(0, grid.find('_')));
  std::transform(state.begin(), state.end(), state.begin(), [](unsigned char x) { return static_cast<char>(std::tolower(x)); });
  const std::string name = "electricity." + state + "_industrial";
  if (const auto* known = standard_zoo().find<ScalarFigure>(name)) {
    const auto price = known->quantity<dim::money_per_energy>();
    notes.assume("kwh_price", price, name);
    return price;
  }
  notes.assume("kwh_price", c.electricity_price, kDefaults);
  return c.electricity_price;
}

/// Everything but prices. @param embodied of one device, where the request says it
MacroViews<> place_views(const EconomicsModel::Inputs& in, std::optional<Carbon<>> embodied, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const HardwareNode& device = *in.fleet->node->accelerator;
  if (!device.power.tdp)
    throw InputError({.id = "mlsysim.catalogue.020",
                      .message = fmt::format("'{}' has no TDP, so its energy is not known", device.name),
                      .key = "power.tdp",
                      .expected = "a thermal design power",
                      .hint = "give the device power: {tdp: ...}"});
  MacroViews<> v;
  v.region = set_place(in, c, v.facility, notes).name;
  v.tdp = *device.power.tdp;
  v.idle_fraction = c.idle_fraction;
  v.accelerators = in.fleet->total_accelerators();
  v.utilization = in.utilization.value_or(in.mfu);
  v.period = in.duration_days * unit::d;
  notes.assume("idle_fraction", c.idle_fraction, kDefaults);
  notes.assume("host_power", Power<>(), "accelerators only: processors, adapters and storage of the nodes are not counted");
  if (!embodied) embodied = device.embodied_carbon;
  v.embodied_known = embodied.has_value();
  v.facility.embodied_carbon = embodied.value_or(Carbon<>());
  const double years = in.amortization_years.value_or(c.amortization_years);
  if (!in.amortization_years) notes.assume("amortization_years", years, kDefaults);
  v.facility.lifetime = years * unit::yr;
  return v;
}

/// Says that a footprint leaves out what is not known.
void warn_of_embodied(const EconomicsModel::Inputs& in, const MacroViews<>& v, const MacroNumbers<>& n, Notes& notes) {
  if (v.embodied_known) return;
  notes.warn([&] {
    return fmt::format("the footprint is at least that of the electricity, {}: what making a {} emits is not known; "
                       "embodied_carbon_per_device of SustainabilityModel gives it",
                       pretty(AnyQuantity(n.operational_carbon), "kgCO2e", 4), in.fleet->node->accelerator->name);
  });
}

}  // namespace

MacroViews<> prepare_macro(const EconomicsModel::Inputs& in, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  MacroViews<> v = place_views(in, std::nullopt, notes);
  const auto& price = in.unit_cost ? in.unit_cost : in.fleet->node->accelerator->unit_cost;
  v.price_known = price.has_value();
  v.unit_cost = price.value_or(Money<>());
  v.energy_price = in.kwh_price ? *in.kwh_price : electricity_price(v.region, c, notes);
  v.infrastructure = in.infrastructure_multiplier;
  v.facility.maintenance_share = c.maintenance_share;
  if (v.price_known) notes.assume("maintenance_share", c.maintenance_share, kDefaults);
  return v;
}

SustainabilityModel::Result SustainabilityModel::solve(const Inputs& in, Notes& notes) const {
  const auto asked = fields_of<EconomicsModel::Inputs>(in);
  const auto v = place_views(asked, in.embodied_carbon_per_device, notes);
  const auto n = macro_numbers(v);
  warn_of_embodied(asked, v, n, notes);
  Result r;
  r.power = n.power;
  r.it_energy = n.it_energy;
  r.total_energy = n.energy;
  r.operational_carbon = n.operational_carbon;
  if (v.embodied_known) r.embodied_carbon = n.embodied_carbon;
  r.carbon_footprint = n.carbon_footprint;
  r.water_usage = n.water;
  r.pue = v.facility.pue;
  r.region_name = v.region;
  return r;
}

EconomicsModel::Result EconomicsModel::solve(const Inputs& in, Notes& notes) const {
  const auto v = prepare_macro(in, notes);
  const auto n = macro_numbers(v);
  warn_of_embodied(in, v, n, notes);
  Result r;
  r.opex_energy = n.energy_cost;
  if (v.price_known) {
    r.capex = n.capex;
    r.opex_maintenance = n.maintenance;
    r.total_opex = n.energy_cost + n.maintenance;
    r.tco = n.tco;
  } else {
    notes.warn([&] {
      return fmt::format("the cost is at least the electricity: {}; the price of a {} is not known, unit_cost gives it",
                         pretty(AnyQuantity(n.energy_cost), "USD", 4), in.fleet->node->accelerator->name);
    });
  }
  r.it_energy = n.it_energy;
  r.total_energy = n.energy;
  r.carbon_footprint = n.carbon_footprint;
  r.water_usage = n.water;
  r.pue = v.facility.pue;
  r.region_name = v.region;
  return r;
}

}  // namespace mlsysim
