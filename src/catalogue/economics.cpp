#include <mlsysim/catalogue/models/economics.hpp>
#include <mlsysim/catalogue/models/sustainability.hpp>
#include <mlsysim/catalogue/views.hpp>
#include <mlsysim/physics/carbon.hpp>
#include <mlsysim/physics/cost.hpp>
#include <mlsysim/physics/energy.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace mlsysim {
namespace {

constexpr SharedText kDefaults = "zoo/defaults.yaml";

/// Grid, PUE and WUE of a request, every gap filled with a convention that is noted.
struct Environment {
  const GridProfile* grid;
  double pue;
  WaterIntensity<> wue;
};

Environment environment_of(const SustainabilityModel::Inputs& in, const Conventions& c, Notes& notes) {
  const Datacenter* facility = in.datacenter != nullptr ? in.datacenter : in.fleet->datacenter;
  Environment e{in.grid, c.pue, c.wue};
  if (e.grid == nullptr && facility != nullptr) e.grid = facility->grid;
  if (e.grid == nullptr) e.grid = in.fleet->grid;
  if (e.grid == nullptr) {
    e.grid = &standard_zoo().at<GridProfile>("US_Avg");
    notes.assume("grid", e.grid->name, "no grid was named");
  }
  // A facility on the same grid tells its PUE; a grid alone does not have one.
  if (facility != nullptr) {
    e.pue = facility->pue;
    if (facility->wue) e.wue = *facility->wue;
  } else {
    notes.assume("pue", c.pue, kDefaults);
    notes.assume("wue", c.wue, kDefaults);
  }
  return e;
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

}  // namespace

SustainabilityModel::Result SustainabilityModel::solve(const Inputs& in, Notes& notes) const {
  const Conventions& c = conventions_or_standard(in.conventions);
  const HardwareNode& device = *in.fleet->node->accelerator;
  if (!device.power.tdp)
    throw InputError({.id = "mlsysim.catalogue.020",
                      .message = fmt::format("'{}' has no TDP, so its energy is not known", device.name),
                      .key = "power.tdp",
                      .expected = "a thermal design power",
                      .hint = "give the device power: {tdp: ...}"});
  const Environment e = environment_of(in, c, notes);
  const double devices = in.fleet->total_accelerators();
  const Time<> period = in.duration_days * unit::d;
  const auto drawn = EnergyProportional::solve<double>(
      {.tdp = *device.power.tdp, .utilization = in.utilization.value_or(in.mfu), .time = period, .idle_fraction = c.idle_fraction});
  notes.assume("idle_fraction", c.idle_fraction, kDefaults);
  notes.assume("host_power", Power<>(), "accelerators only: processors, adapters and storage of the nodes are not counted");

  std::optional<Carbon<>> embodied = in.embodied_carbon_per_device;
  if (!embodied) embodied = device.embodied_carbon;
  if (!embodied) notes.assume("embodied_carbon_per_device", Carbon<>(), "not known for " + device.name + ": counted as zero");
  const double years = in.amortization_years.value_or(c.amortization_years);
  if (!in.amortization_years) notes.assume("amortization_years", years, kDefaults);

  Result r;
  r.power = drawn.power * devices;
  r.it_energy = drawn.energy * devices;
  const auto carbon = CarbonFootprint::solve<double>({.energy = r.it_energy,
                                                      .pue = e.pue,
                                                      .carbon_intensity = e.grid->carbon_intensity,
                                                      .device_carbon = embodied.value_or(Carbon<>()),
                                                      .devices = devices,
                                                      .used_time = period,
                                                      .lifetime = years * unit::yr});
  r.total_energy = FacilityEnergy::solve<double>({r.it_energy, e.pue}).facility_energy;
  r.operational_carbon = carbon.operational;
  r.embodied_carbon = carbon.embodied;
  r.carbon_footprint = carbon.carbon_footprint;
  r.water_usage = WaterUse::solve<double>({r.it_energy, e.wue}).water;
  r.pue = e.pue;
  r.region_name = e.grid->name;
  return r;
}

EconomicsModel::Result EconomicsModel::solve(const Inputs& in, Notes& notes) const {
  const Conventions& c = conventions_or_standard(in.conventions);
  const HardwareNode& device = *in.fleet->node->accelerator;
  const auto use = SustainabilityModel{}.solve({.fleet = in.fleet,
                                                .duration_days = in.duration_days,
                                                .datacenter = in.datacenter,
                                                .grid = in.grid,
                                                .mfu = in.mfu,
                                                .utilization = in.utilization,
                                                .amortization_years = in.amortization_years,
                                                .conventions = in.conventions},
                                               notes);
  std::optional<Money<>> price = in.unit_cost;
  if (!price) price = device.unit_cost;
  if (!price) {
    notes.assume("unit_cost", Money<>(), "not known for " + device.name + ": counted as zero");
    notes.warn("capital cost and maintenance are zero because the price of " + device.name + " is not known");
  }
  const auto energy_price = in.kwh_price ? *in.kwh_price : electricity_price(use.region_name, c, notes);
  notes.assume("maintenance_share", c.maintenance_share, kDefaults);
  const auto cost = TotalCost::solve<double>(
      {.unit_cost = price.value_or(Money<>()),
       .devices = in.fleet->total_accelerators(),
       .used_time = in.duration_days * unit::d,
       .lifetime = in.amortization_years.value_or(c.amortization_years) * unit::yr,
       .facility_energy = use.total_energy,
       .energy_price = energy_price,
       .infrastructure = in.infrastructure_multiplier,
       .annual_maintenance = c.maintenance_share});
  Result r;
  r.capex = cost.capital;
  r.opex_energy = cost.energy_cost;
  r.opex_maintenance = cost.maintenance;
  r.total_opex = cost.energy_cost + cost.maintenance;
  r.tco = cost.tco;
  r.it_energy = use.it_energy;
  r.total_energy = use.total_energy;
  r.carbon_footprint = use.carbon_footprint;
  r.water_usage = use.water_usage;
  r.pue = use.pue;
  r.region_name = use.region_name;
  return r;
}

}  // namespace mlsysim
