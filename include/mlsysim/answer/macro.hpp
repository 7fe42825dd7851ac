#pragma once
/// What running at a load for a period costs, draws and emits, over any scalar.

#include <mlsysim/physics/carbon.hpp>
#include <mlsysim/physics/cost.hpp>
#include <mlsysim/physics/energy.hpp>
#include <mlsysim/table/field.hpp>

namespace mlsysim {

/// Figures of the facility, the grid and the accounts.
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

/// What is run, and at which prices.
template <class T = double> struct MacroViews {
  Facility<T> facility;
  Power<T> tdp;          ///< of one device
  T idle_fraction{0.0};  ///< share of it that an idle device draws
  T accelerators{1.0};
  T utilization{1.0};  ///< share of the time in which a device draws its full power
  Time<T> period;
  T infrastructure{1.0};  ///< purchase over that of the devices alone
  MoneyPerEnergy<T> energy_price;
  Money<T> unit_cost;  ///< of one device
};

template <class T = double> struct MacroNumbers {
  T utilization{0.0};
  Money<T> tco, capex, energy_cost, maintenance;
  Power<T> power;
  Energy<T> it_energy, energy;
  Carbon<T> carbon_footprint, operational_carbon, embodied_carbon;
  Water<T> water;
  MoneyPerToken<T> cost_per_token;
  EnergyPerToken<T> energy_per_token;
  CarbonPerToken<T> carbon_per_token;

  static constexpr auto fields() {
    using R = MacroNumbers;
    return rows(
        field(&R::utilization, "utilization", "", "share of the time in which kernels run"),
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
        field(&R::carbon_per_token, "carbon_per_token", "gCO2e/Mtoken", "greenhouse gases over all tokens"));
  }
};

/// Power of the switches between nodes for each device; of one node there are none.
template <class T> [[nodiscard]] Power<T> switch_power(const Facility<T>& f, const T& devices) {
  const T each = f.node_ports / f.node_devices;
  const auto clos =
      apply<ClosPower, T>({.ports = devices * each, .radix = f.switch_ports, .port_power = f.port_power});
  return f.network_power + select(devices > f.node_devices, clos.power * each, Power<T>());
}

/// Cost, energy and carbon of the period, without figures a token. Hosts and switches draw what they draw,
/// whatever the load of the devices.
template <class T> [[nodiscard]] MacroNumbers<T> macro_numbers(const MacroViews<T>& v) {
  MacroNumbers<T> out;
  const auto& f = v.facility;
  out.utilization = v.utilization;
  const auto drawn = apply<EnergyProportional, T>(
      {.tdp = v.tdp, .utilization = v.utilization, .time = v.period, .idle_fraction = v.idle_fraction});
  const Power<T> beside = f.host_power + switch_power(f, v.accelerators);
  out.power = (drawn.power + beside) * v.accelerators;
  out.it_energy = (drawn.energy + beside * v.period) * v.accelerators;
  out.energy = apply<FacilityEnergy, T>({.energy = out.it_energy, .pue = f.pue}).facility_energy;
  const auto carbon = apply<CarbonFootprint, T>({.energy = out.it_energy,
                                                 .pue = f.pue,
                                                 .carbon_intensity = f.carbon_intensity,
                                                 .device_carbon = f.embodied_carbon,
                                                 .devices = v.accelerators,
                                                 .used_time = v.period,
                                                 .lifetime = f.lifetime});
  out.carbon_footprint = carbon.carbon_footprint;
  out.operational_carbon = carbon.operational;
  out.embodied_carbon = carbon.embodied;
  out.water = apply<WaterUse, T>({.energy = out.it_energy, .wue = f.wue}).water;
  const auto cost = apply<TotalCost, T>({.unit_cost = v.unit_cost,
                                         .devices = v.accelerators,
                                         .used_time = v.period,
                                         .lifetime = f.lifetime,
                                         .facility_energy = out.energy,
                                         .energy_price = v.energy_price,
                                         .infrastructure = v.infrastructure,
                                         .annual_maintenance = f.maintenance_share});
  out.tco = cost.tco;
  out.capex = cost.capital;
  out.energy_cost = cost.energy_cost;
  out.maintenance = cost.maintenance;
  return out;
}

/// Adds the figures of one token, of `tokens` in a second.
template <class T>
void add_per_token(MacroNumbers<T>& out, const TokenRate<T>& tokens, const Time<T>& period) {
  out.cost_per_token =
      apply<CostPerToken, T>({.cost_rate = out.tco / period, .token_throughput = tokens}).cost_per_token;
  out.energy_per_token = out.energy / (tokens * period);
  out.carbon_per_token = out.carbon_footprint / (tokens * period);
}

}  // namespace mlsysim
