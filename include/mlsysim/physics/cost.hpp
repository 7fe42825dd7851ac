#pragma once
/// Cost of owning and running machines over a period, and the cost of one token.
///
///   capital        = unit_cost devices infrastructure used_time / lifetime       [USD]
///   energy_cost    = facility_energy energy_price
///   maintenance    = purchase annual_maintenance used_time / 365 days
///   tco            = capital + energy_cost + maintenance
///   cost_per_token = cost_rate / (token_throughput utilization)                  [USD/token]
///
/// infrastructure: whole purchase over the devices alone. purchase = unit_cost devices infrastructure.
/// annual_maintenance: share of the purchase price in a year. utilization: busy share of paid time.
/// Limits: straight-line depreciation, no interest or resale value, one flat energy price.
/// Example: 8 devices of $30,000 for 1 of 4 years, 60 MWh at $0.10/kWh, 5 %: $60,000 + $6,000 + $12,000.
/// Example: $20/h at 10,000 token/s, half of the time busy: $1.11 per million tokens.
/// @cite barroso2018datacenter, chapter 6
/// @cite pope2023inference, section 2

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Purchase price and the part of it that falls to a period, straight line [USD].
///
/// Ranges: unit_cost, used_time, devices >= 0; infrastructure >= 1; lifetime > 0.
/// @cite barroso2018datacenter, chapter 6 (capital costs, depreciation)
struct CapitalCost {
  static constexpr LawInfo info{
      "CapitalCost", "capital = unit_cost devices infrastructure used_time / lifetime",
      "barroso2018datacenter", "chapter 6", "straight-line depreciation, no interest"};
  template <class T> struct Inputs {
    Money<T> unit_cost;
    T devices;
    Time<T> used_time, lifetime;
    T infrastructure{1.0};
    static constexpr auto fields() {
      return rows(field(&Inputs::unit_cost, "unit_cost", "USD", "price of one device").non_negative(),
                  field(&Inputs::devices, key::devices), field(&Inputs::used_time, key::used_time),
                  field(&Inputs::lifetime, key::lifetime),
                  field(&Inputs::infrastructure, "infrastructure", "",
                        "purchase of everything over that of the devices")
                      .at_least(1)
                      .defaulted("devices alone"));
    }
  };
  template <class T> struct Result {
    Money<T> purchase, capital;
    static constexpr auto fields() {
      return rows(field(&Result::purchase, "purchase", "USD", "price paid at the start"),
                  field(&Result::capital, "capital", "USD", "part of the price that falls to the period"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto purchase = named("purchase", in.unit_cost * in.devices * in.infrastructure);
    return {.purchase = purchase, .capital = purchase * (in.used_time / in.lifetime)};
  }
};

/// Cost of the electricity of a period [USD].
///
/// Ranges: both >= 0.
/// @cite barroso2018datacenter, chapter 6 (operational costs)
struct EnergyCost {
  static constexpr LawInfo info{"EnergyCost", "energy_cost = facility_energy energy_price",
                                "barroso2018datacenter", "chapter 6", "one flat price per energy"};
  template <class T> struct Inputs {
    Energy<T> facility_energy;
    MoneyPerEnergy<T> energy_price;
    static constexpr auto fields() {
      return rows(field(&Inputs::facility_energy, key::facility_energy),
                  field(&Inputs::energy_price, key::energy_price));
    }
  };
  template <class T> struct Result {
    Money<T> energy_cost;
    static constexpr auto fields() {
      return rows(field(&Result::energy_cost, "energy_cost", "USD", "cost of the electricity"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.energy_cost = in.facility_energy * in.energy_price};
  }
};

/// Cost of keeping the machines in repair over a period [USD].
///
/// Ranges: purchase, used_time >= 0; annual_maintenance in [0, 1].
/// @cite barroso2018datacenter, chapter 6; share 0.05: convention of MLSys-im
struct MaintenanceCost {
  static constexpr LawInfo info{
      "MaintenanceCost", "maintenance = purchase annual_maintenance used_time / year",
      "barroso2018datacenter", "chapter 6", "a fixed share of the purchase price per 365 days"};
  template <class T> struct Inputs {
    Money<T> purchase;
    Time<T> used_time;
    T annual_maintenance{0.05};
    static constexpr auto fields() {
      return rows(field(&Inputs::purchase, "purchase", "USD", "price paid at the start").non_negative(),
                  field(&Inputs::used_time, key::used_time),
                  field(&Inputs::annual_maintenance, "annual_maintenance", "",
                        "share of the purchase price per 365 days")
                      .within(0, 1)
                      .defaulted("convention of MLSys-im"));
    }
  };
  template <class T> struct Result {
    Money<T> maintenance;
    static constexpr auto fields() {
      return rows(field(&Result::maintenance, "maintenance", "USD", "cost of upkeep"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.maintenance = in.purchase * in.annual_maintenance * (in.used_time / (1.0 * unit::yr))};
  }
};

/// Total cost of ownership over a period [USD].
///
/// The sum of the three laws above, with their ranges. Network, staff and floor space enter through
/// infrastructure only.
/// @cite barroso2018datacenter, chapter 6
struct TotalCost {
  static constexpr LawInfo info{"TotalCost", "tco = capital + energy_cost + maintenance",
                                "barroso2018datacenter", "chapter 6",
                                "straight-line depreciation, flat prices"};
  template <class T> struct Inputs {
    Money<T> unit_cost;
    T devices;
    Time<T> used_time, lifetime;
    Energy<T> facility_energy;
    MoneyPerEnergy<T> energy_price;
    T infrastructure{1.0}, annual_maintenance{0.05};
    static constexpr auto fields() {
      return rows(field(&Inputs::unit_cost, "unit_cost", "USD", "price of one device").non_negative(),
                  field(&Inputs::devices, key::devices), field(&Inputs::used_time, key::used_time),
                  field(&Inputs::lifetime, key::lifetime),
                  field(&Inputs::facility_energy, key::facility_energy),
                  field(&Inputs::energy_price, key::energy_price),
                  field(&Inputs::infrastructure, "infrastructure", "",
                        "purchase of everything over that of the devices")
                      .at_least(1)
                      .defaulted("devices alone"),
                  field(&Inputs::annual_maintenance, "annual_maintenance", "",
                        "share of the purchase price per 365 days")
                      .within(0, 1)
                      .defaulted("convention of MLSys-im"));
    }
  };
  template <class T> struct Result {
    Money<T> capital, energy_cost, maintenance, tco;
    static constexpr auto fields() {
      return rows(field(&Result::capital, "capital", "USD", "part of the purchase that falls to the period"),
                  field(&Result::energy_cost, "energy_cost", "USD", "cost of the electricity"),
                  field(&Result::maintenance, "maintenance", "USD", "cost of upkeep"),
                  field(&Result::tco, key::tco));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto capital = apply<CapitalCost, T>({.unit_cost = in.unit_cost,
                                                .devices = in.devices,
                                                .used_time = in.used_time,
                                                .lifetime = in.lifetime,
                                                .infrastructure = in.infrastructure});
    const auto energy =
        apply<EnergyCost, T>({.facility_energy = in.facility_energy, .energy_price = in.energy_price})
            .energy_cost;
    const auto upkeep = apply<MaintenanceCost, T>({.purchase = capital.purchase,
                                                   .used_time = in.used_time,
                                                   .annual_maintenance = in.annual_maintenance})
                            .maintenance;
    return {.capital = capital.capital,
            .energy_cost = energy,
            .maintenance = upkeep,
            .tco = capital.capital + energy + upkeep};
  }
};

/// Cost of one token at a running cost and a rate of tokens [USD/token].
///
/// Idle hours are paid too. Ranges: cost_rate >= 0; token_throughput > 0; utilization in (0, 1].
/// @cite pope2023inference, section 2 (cost per token)
struct CostPerToken {
  static constexpr LawInfo info{"CostPerToken", "cost_per_token = cost_rate / (token_throughput utilization)",
                                "pope2023inference", "section 2",
                                "input and output tokens are not told apart"};
  template <class T> struct Inputs {
    Quantity<dim::money_rate, T> cost_rate;
    TokenRate<T> token_throughput;
    T utilization{1.0};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::cost_rate, "cost_rate", "USD/h", "cost of all devices per time").non_negative(),
          field(&Inputs::token_throughput, key::token_throughput).positive(),
          field(&Inputs::utilization, key::utilization).within(1e-6, 1).defaulted("busy all the time"));
    }
  };
  template <class T> struct Result {
    MoneyPerToken<T> cost_per_token;
    static constexpr auto fields() { return rows(field(&Result::cost_per_token, key::cost_per_token)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.cost_per_token = in.cost_rate / (in.token_throughput * in.utilization)};
  }
};

}  // namespace mlsysim
