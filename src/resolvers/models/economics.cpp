#include <mlsysim/reflect/take_fields.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/resolvers/models/sustainability.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/detail/lower.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

namespace mlsysim {
namespace {

/// Grid, PUE and WUE of a request, every gap filled with a convention that is noted.
struct Environment {
  const GridProfile* grid;
  double pue;
  WaterIntensity<> wue;
};

Environment environment_of(const EconomicsModel::Inputs& in, const Conventions& c, Notes& notes) {
  const Datacenter* facility = in.datacenter != nullptr ? in.datacenter : in.fleet->datacenter;
  Environment e{in.grid, c.pue, c.wue};
  if (e.grid == nullptr && facility != nullptr) e.grid = facility->grid;
  if (e.grid == nullptr) e.grid = in.fleet->grid;
  if (e.grid == nullptr) {
    e.grid = &standard_zoo().at<GridProfile>("US_Avg");
    notes.assume("grid", e.grid->name, "no grid was named");
  }
  // PUE and WUE belong to a facility: the one that is named or the fleet's own. A grid alone has neither.
  if (facility != nullptr)
    e.pue = facility->pue;
  else
    notes.assume("pue", c.pue, kDefaults);
  if (facility != nullptr && facility->wue)
    e.wue = *facility->wue;
  else
    notes.assume("wue", c.wue, kDefaults);
  return e;
}

/// Price of electricity on a grid: the industrial price of its state where the zoo has one, else the
/// convention.
MoneyPerEnergy<> electricity_price(std::string_view grid, const Conventions& c, Notes& notes) {
  const auto name = "electricity." + detail::lower(grid.substr(0, grid.find('_'))) + "_industrial";
  if (const auto* known = standard_zoo().find<ScalarFigure>(name)) {
    const auto price = known->quantity<dim::money_per_energy>();
    notes.assume("kwh_price", price, name);
    return price;
  }
  notes.assume("kwh_price", c.electricity_price, kDefaults);
  return c.electricity_price;
}

}  // namespace

SettledMacro settle(const EconomicsModel::Inputs& in, Notes& notes, std::optional<Carbon<>> embodied,
                    bool stated_idle) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const HardwareNode& device = *in.fleet->node->accelerator;
  if (!device.power.tdp)
    throw InputError({.id = "mlsysim.catalogue.020",
                      .message = fmt::format("'{}' has no TDP, so its energy is not known", device.name),
                      .key = "power.tdp",
                      .expected = "a thermal design power",
                      .hint = "give the device power: {tdp: ...}",
                      .reason = BreakReason::missing_field});
  const Environment e = environment_of(in, c, notes);
  SettledMacro out;
  auto& p = out.problem;
  p.region = e.grid->name;
  p.has_power = true;
  stated_idle = stated_idle && device.power.idle;
  out.load = {.tdp = *device.power.tdp,
              .idle_fraction = stated_idle ? device.power.idle_share(c.idle_fraction) : c.idle_fraction,
              .accelerators = in.fleet->total_accelerators(),
              .utilization = in.utilization.value_or(in.mfu)};
  if (!stated_idle) notes.assume("idle_fraction", c.idle_fraction, kDefaults);
  if (!in.host_power)
    notes.assume("host_power", Power<>(),
                 "accelerators only: processors, adapters and storage of the nodes are not counted");
  if (!in.network_power) notes.assume("network_power", Power<>(), "switches between nodes are not counted");
  p.duration_days = in.duration_days;
  p.infrastructure_multiplier = in.infrastructure_multiplier;
  auto& f = p.facility;
  f.pue = e.pue;
  f.host_power = in.host_power.value_or(Power<>());
  f.network_power = in.network_power.value_or(Power<>());
  f.wue = e.wue;
  f.carbon_intensity = e.grid->carbon_intensity;
  if (!embodied) embodied = device.embodied_carbon;
  out.has_embodied = embodied.has_value();
  f.embodied_carbon = embodied.value_or(Carbon<>());
  if (!out.has_embodied)
    notes.warn([&] {
      return fmt::format(
          "carbon is at least that of the electricity: no manufacturing footprint of {} is known",
          device.name);
    });
  const double years = in.amortization_years.value_or(c.amortization_years);
  if (!in.amortization_years) notes.assume("amortization_years", years, kDefaults);
  f.lifetime = years * unit::yr;
  f.maintenance_share = c.maintenance_share;
  notes.assume("maintenance_share", c.maintenance_share, kDefaults);
  p.has_price = in.unit_cost.has_value() || device.unit_cost.has_value();
  p.unit_cost = in.unit_cost ? *in.unit_cost : device.unit_cost.value_or(Money<>());
  if (!p.has_price)
    notes.warn([&] {
      return fmt::format(
          "the cost is at least that of the electricity: the price of {} is not known; unit_cost gives one",
          device.name);
    });
  p.kwh_price = in.kwh_price ? *in.kwh_price : electricity_price(e.grid->name, c, notes);
  return out;
}

SustainabilityModel::Result SustainabilityModel::solve(const Inputs& in, Notes& notes) const {
  auto asked = fields_of<EconomicsModel::Inputs>(in);
  asked.kwh_price = MoneyPerEnergy<>();  // its cost is not needed
  asked.unit_cost = Money<>();
  const auto p = settle(asked, notes, in.embodied_carbon_per_device);
  const auto n = macro_estimate(p.problem, p.load);
  Result r;
  r.power = n.power;
  r.it_energy = n.it_energy;
  r.total_energy = n.energy;
  r.operational_carbon = n.operational_carbon;
  if (p.has_embodied) r.embodied_carbon = n.embodied_carbon;
  r.carbon_footprint = n.carbon_footprint;
  r.water_usage = n.water;
  r.pue = p.problem.facility.pue;
  r.region_name = p.problem.region;
  return r;
}

EconomicsModel::Result EconomicsModel::solve(const Inputs& in, Notes& notes) const {
  const auto p = settle(in, notes);
  const auto n = macro_estimate(p.problem, p.load);
  Result r;
  r.opex_energy = n.energy_cost;
  if (p.problem.has_price) {
    r.capex = n.capex;
    r.opex_maintenance = n.maintenance;
    r.total_opex = n.energy_cost + n.maintenance;
    r.tco = n.tco;
  }
  r.it_energy = n.it_energy;
  r.total_energy = n.energy;
  r.carbon_footprint = n.carbon_footprint;
  r.water_usage = n.water;
  r.pue = p.problem.facility.pue;
  r.region_name = p.problem.region;
  return r;
}

}  // namespace mlsysim
