#pragma once
/// Cost, energy, water and emissions of devices that run at a load for a period.
///
///     power    = (tdp (idle + (1 - idle) utilization) + host_power + switch_power) accelerators
///     energy   = power period pue
///     tco      = capex + energy kwh_price + maintenance, or rent accelerators period
///     capex    = unit_cost infrastructure_multiplier accelerators period / lifetime
///     per token = tco, energy or emissions over the tokens of the period
///
/// idle: share of TDP that an idle device draws. Hosts and switches draw the same power at any load.
/// Depreciation is straight-line, prices are flat. Rent includes electricity, hosts and upkeep.
/// @cite barroso2018datacenter, chapter 6
/// Example: 8 devices of $30,000 and 700 W, always busy, 30 days, 3 years, PUE 1.2, $0.12/kWh, 5 %
/// maintenance. No hosts or switches: 6,575 + 581 + 986 = $8,142.

#include <mlsysim/physics/carbon.hpp>
#include <mlsysim/physics/cost.hpp>
#include <mlsysim/physics/energy.hpp>
#include <mlsysim/reflect/category.hpp>
#include <mlsysim/reflect/field.hpp>
#include <mlsysim/reflect/vocabulary.hpp>

#include <string_view>

namespace mlsysim {

/// Parameters of the facility, the grid and the accounts.
template <class T = double> struct Facility {
  T pue{1.0}, maintenance_share{0.0};
  Power<T> host_power, network_power;    ///< beside one device: its part of the host, and of a given network
  Power<T> port_power;                   ///< of a switch port, where the network is not given
  T node_ports{1.0}, node_devices{1.0};  ///< network adapters and devices of a node
  T switch_ports{64.0};
  WaterIntensity<T> wue;
  CarbonIntensity<T> carbon_intensity;
  Carbon<T> embodied_carbon;
  Time<T> lifetime = Time<T>::from_base(T{1.0});  ///< any where nothing is charged: it divides

  static constexpr auto fields() {
    using F = Facility;
    return rows(
        field(&F::pue, "pue", "", "facility energy over IT energy").at_least(1),
        field(&F::maintenance_share, "maintenance_share", "", "share of the purchase per year").within(0, 1),
        field(&F::host_power, "host_power", "W", "processors, memory, adapters and fans, of a device's part")
            .non_negative(),
        field(&F::network_power, "network_power", "W", "switches between nodes, of a device's part")
            .non_negative(),
        field(&F::port_power, "port_power", "W", "of a switch port, where network_power is not given")
            .non_negative(),
        field(&F::node_ports, "node_ports", "", "network adapters of a node").positive(),
        field(&F::node_devices, "node_devices", "", "devices of a node").positive(),
        field(&F::switch_ports, "switch_ports", "", "ports of a switch").at_least(2),
        field(&F::wue, "wue", "L/kWh", "water over IT energy").non_negative(),
        field(&F::carbon_intensity, "carbon_intensity", "gCO2e/kWh", "of the grid").non_negative(),
        field(&F::embodied_carbon, "embodied_carbon", "kgCO2e", "emissions of making one device")
            .non_negative(),
        field(&F::lifetime, "lifetime", "yr", "years over which purchases are written off").positive());
  }
};

/// Prices, grid and facility of a run.
template <class T = double> struct MacroProblem {
  T duration_days{30.0};
  T infrastructure_multiplier{1.0};  ///< purchase over that of the devices alone
  MoneyPerEnergy<T> kwh_price;
  Money<T> unit_cost;  ///< of one device
  MoneyRate<T> rent;   ///< of one device, everything included
  Facility<T> facility;
  bool has_power = false;   ///< the TDP is known, so energy and cost are
  bool has_price = false;   ///< the price of a device is known
  bool rented = false;      ///< devices are paid by the hour; else they are bought
  std::string_view region;  ///< grid that is charged; a text of the zoo or of the caller

  [[nodiscard]] Time<T> period() const { return Time<T>::from_base(duration_days * 86400.0); }

  static constexpr auto fields() {
    using P = MacroProblem;
    return rows(field(&P::duration_days, key::duration_days),
                field(&P::infrastructure_multiplier, key::infrastructure_multiplier),
                field(&P::kwh_price, key::kwh_price),
                field(&P::unit_cost, "unit_cost", "USD", "price of one device"), field(&P::rent, key::rent),
                field(&P::facility, "facility", "", ""));
  }
  static constexpr auto categories() {
    using P = MacroProblem;
    return rows(category(&P::has_power, "has_power", "the TDP is known, so energy and cost are"),
                category(&P::has_price, "has_price", "the price of a device is known"),
                category(&P::rented, "rented", "devices are paid by the hour"));
  }
  static constexpr auto labels() {
    return rows(category(&MacroProblem::region, "region", "grid that is charged"));
  }
};

/// The devices that run for the period, and how busy they are.
template <class T = double> struct MacroLoad {
  Power<T> tdp;          ///< of one device
  T idle_fraction{0.0};  ///< share of it that an idle device draws
  T accelerators{1.0};
  T utilization{1.0};  ///< share of the time in which a device draws its full power
};

template <class T = double> struct MacroEstimate {
  Money<T> tco, capex, energy_cost, maintenance;
  Power<T> power;
  Energy<T> it_energy, energy;
  Carbon<T> carbon_footprint, operational_carbon, embodied_carbon;
  Water<T> water;
  MoneyPerToken<T> cost_per_token;
  EnergyPerToken<T> energy_per_token;
  CarbonPerToken<T> carbon_per_token;
  Energy<T> energy_per_batch;  ///< of one inference on one device
  Money<T> run_cost;           ///< of a whole training run
  Energy<T> run_energy;        ///< likewise

  static constexpr auto fields() {
    using R = MacroEstimate;
    return rows(
        field(&R::tco, "tco", "USD", "total cost of the period"),
        field(&R::capex, "capex", "USD", "capital cost of the period"),
        field(&R::energy_cost, "energy_cost", "USD", "electricity"),
        field(&R::maintenance, "maintenance", "USD", "maintenance"),
        field(&R::power, "power", "kW", "mean power of all accelerators, hosts and switches"),
        field(&R::it_energy, "it_energy", "kWh", "energy of them"),
        field(&R::energy, "energy", "kWh", "energy of the facility"),
        field(&R::carbon_footprint, "carbon_footprint", "tCO2e", "operational and embodied"),
        field(&R::operational_carbon, "operational_carbon", "tCO2e", "of the electricity"),
        field(&R::embodied_carbon, "embodied_carbon", "tCO2e", "of making the devices, for the period"),
        field(&R::water, "water", "L", "water used on site"),
        field(&R::cost_per_token, "cost_per_token", "USD/Mtoken", "all costs over all tokens, always busy"),
        field(&R::energy_per_token, "energy_per_token", "J/token", "energy of the facility over all tokens"),
        field(&R::carbon_per_token, "carbon_per_token", "gCO2e/Mtoken", "greenhouse gases over all tokens"),
        field(&R::energy_per_batch, "energy_per_batch", "J", "energy of one batch on one device"),
        field(&R::run_cost, "run_cost", "USD", "cost of the training run, failures included"),
        field(&R::run_energy, "run_energy", "MWh", "energy of the facility for the training run"));
  }
};

/// Whether a result of this name rests on the price of a device.
[[nodiscard]] constexpr bool needs_price(std::string_view name) {
  return name == "tco" || name == "capex" || name == "maintenance" || name == "cost_per_token" ||
         name == "run_cost";
}

/// Power of the switches between nodes for each device; of one node there are none.
template <class T> [[nodiscard]] Power<T> switch_power(const Facility<T>& f, const T& devices) {
  const T each = f.node_ports / f.node_devices;
  const auto clos =
      apply<ClosPower, T>({.ports = devices * each, .radix = f.switch_ports, .port_power = f.port_power});
  return f.network_power + select(devices > f.node_devices, clos.power * each, Power<T>());
}

/// Cost, energy and carbon of the period, without values per token.
template <class T>
[[nodiscard]] MacroEstimate<T> macro_estimate(const MacroProblem<T>& p, const MacroLoad<T>& load) {
  MacroEstimate<T> out;
  const auto& f = p.facility;
  const Time<T> period = p.period();
  const auto drawn = apply<EnergyProportional, T>({.tdp = load.tdp,
                                                   .utilization = load.utilization,
                                                   .time = period,
                                                   .idle_fraction = load.idle_fraction});
  const Power<T> beside = f.host_power + switch_power(f, load.accelerators);
  out.power = (drawn.power + beside) * load.accelerators;
  out.it_energy = (drawn.energy + beside * period) * load.accelerators;
  out.energy = apply<FacilityEnergy, T>({.energy = out.it_energy, .pue = f.pue}).facility_energy;
  const auto carbon = apply<CarbonFootprint, T>({.energy = out.it_energy,
                                                 .pue = f.pue,
                                                 .carbon_intensity = f.carbon_intensity,
                                                 .device_carbon = f.embodied_carbon,
                                                 .devices = load.accelerators,
                                                 .used_time = period,
                                                 .lifetime = f.lifetime});
  out.carbon_footprint = carbon.carbon_footprint;
  out.operational_carbon = carbon.operational;
  out.embodied_carbon = carbon.embodied;
  out.water = apply<WaterUse, T>({.energy = out.it_energy, .wue = f.wue}).water;
  if (p.rented) {  // the rent includes electricity, hosts and upkeep
    out.tco = p.rent * load.accelerators * period;
    return out;
  }
  const auto cost = apply<TotalCost, T>({.unit_cost = p.unit_cost,
                                         .devices = load.accelerators,
                                         .used_time = period,
                                         .lifetime = f.lifetime,
                                         .facility_energy = out.energy,
                                         .energy_price = p.kwh_price,
                                         .infrastructure = p.infrastructure_multiplier,
                                         .annual_maintenance = f.maintenance_share});
  out.tco = cost.tco;
  out.capex = cost.capital;
  out.energy_cost = cost.energy_cost;
  out.maintenance = cost.maintenance;
  return out;
}

/// Adds the values per token, at `tokens` per second.
template <class T>
void add_per_token(MacroEstimate<T>& out, const TokenRate<T>& tokens, const Time<T>& period) {
  out.cost_per_token =
      apply<CostPerToken, T>({.cost_rate = out.tco / period, .token_throughput = tokens}).cost_per_token;
  out.energy_per_token = out.energy / (tokens * period);
  out.carbon_per_token = out.carbon_footprint / (tokens * period);
}

}  // namespace mlsysim
