#pragma once
/// Electrical power and energy of a device or a network, from its load or from what it computes and moves.
///
///   power  = tdp (idle_fraction + (1 - idle_fraction) utilization),  energy = power time      [W, J]
///   energy = work energy_per_work + traffic energy_per_data + static_power time               [J]
///   power  = port_power (2 tiers - 1) for each host port of a folded Clos network             [W]
///
/// tdp: power at full load [W]. utilization: load of the busiest part, not FLOP utilization. work [FLOP].
/// traffic [B]. tiers: least t with 2 (radix / 2)^t >= ports, at most 4. port_power: of one switch port [W].
/// Limits: power is linear in the load. Data toggling, voltage and clock are not modeled.
/// Example: 700 W, 30 % idle share, utilization 0.5: 700 (0.3 + 0.7 x 0.5) = 455 W.
/// Example: 1 TFLOP at 0.5 pJ, 10 GB at 50 pJ/B, 100 W for 5 ms: 0.5 + 0.5 + 0.5 = 1.5 J.
/// @cite barroso2018datacenter, on energy-proportional computing
/// @cite horowitz2014energy, figure 1.1.9
/// @cite alfares2008fattree, section 2.2

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Power and energy of a device whose power rises linearly with its load [W, J].
///
/// A memory-bound phase loads the device although its arithmetic idles, so FLOP utilization understates the
/// power. Ranges: tdp, time >= 0; utilization and idle_fraction in [0, 1].
/// @cite barroso2018datacenter, on energy-proportional computing; idle share 0.3: convention of
/// MLSys-im
struct EnergyProportional {
  static constexpr LawInfo info{
      "EnergyProportional",
      "power = tdp (idle_fraction + (1 - idle_fraction) utilization); energy = power time",
      "barroso2018datacenter", "section on energy-proportional computing", "power is linear in the load"};
  template <class T> struct Inputs {
    Power<T> tdp;
    T utilization;
    Time<T> time;
    T idle_fraction{0.3};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::tdp, "tdp", "W", "power at full load").non_negative(),
          field(&Inputs::utilization, key::utilization), field(&Inputs::time, key::time).non_negative(),
          field(&Inputs::idle_fraction, "idle_fraction", "", "share of the full power drawn when idle")
              .within(0, 1)
              .defaulted("convention of MLSys-im"));
    }
  };
  template <class T> struct Result {
    Power<T> power;
    Energy<T> energy;
    static constexpr auto fields() {
      return rows(field(&Result::power, key::power), field(&Result::energy, key::energy));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto power = named("power", in.tdp * (1.0 - (1.0 - in.idle_fraction) * (1.0 - in.utilization)));
    return {.power = power, .energy = power * in.time};
  }
};

/// Power of the switches of a folded Clos network, for each of the ports that it joins [W].
///
/// Switches with k ports in t tiers join up to 2 (k / 2)^t host ports at full bandwidth. For each host port
/// they have 2 t - 1 ports: one where it enters, and two for each tier above. Example: 4096 ports, radix 64,
/// 20 W: 3 tiers, 100 W. Ranges: radix >= 2; ports, port_power >= 0.
/// @cite alfares2008fattree, section 2.2 (three tiers: k^3 / 4 hosts and 5 k^2 / 4 switches of k ports)
struct ClosPower {
  static constexpr LawInfo info{
      "ClosPower", "power = port_power (2 tiers - 1); tiers = least t with 2 (radix / 2)^t >= ports",
      "alfares2008fattree", "section 2.2", "no oversubscription; switches draw the same whatever their load"};
  template <class T> struct Inputs {
    T ports, radix{64.0};
    Power<T> port_power;
    static constexpr auto fields() {
      return rows(field(&Inputs::ports, "ports", "", "ports of hosts that the network joins").non_negative(),
                  field(&Inputs::radix, "radix", "", "ports of a switch")
                      .at_least(2)
                      .defaulted("a switch of 64 ports"),
                  field(&Inputs::port_power, "port_power", "W",
                        "power of a switch over its ports, with their modules")
                      .non_negative());
    }
  };
  template <class T> struct Result {
    Power<T> power;
    T tiers{1.0};
    static constexpr auto fields() {
      return rows(field(&Result::power, "power", "W", "power of all switches for each port of a host"),
                  field(&Result::tiers, "tiers", "", "tiers of switches"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T one{1.0}, none{0.0}, half = in.radix / 2.0;
    const auto beyond = [&](const T& most) { return select(in.ports > most, one, none); };
    const T tiers =
        named("tiers", one + beyond(in.radix) + beyond(in.radix * half) + beyond(in.radix * half * half));
    return {.power = in.port_power * (2.0 * tiers - 1.0), .tiers = tiers};
  }
};

/// Energy of a piece of work from the energy of its operations [J].
///
/// The energies per operation are averages over a mix. Ranges: all >= 0.
/// @cite horowitz2014energy, figure 1.1.9
struct EnergyPerOperation {
  static constexpr LawInfo info{
      "EnergyPerOperation", "energy = work energy_per_work + traffic energy_per_data + static_power time",
      "horowitz2014energy", "figure 1.1.9", "average energy per operation and per byte"};
  template <class T> struct Inputs {
    Work<T> work;
    Data<T> traffic;
    EnergyPerWork<T> energy_per_work;
    EnergyPerData<T> energy_per_data;
    Power<T> static_power;
    Time<T> time;
    static constexpr auto fields() {
      return rows(field(&Inputs::work, key::work), field(&Inputs::traffic, key::traffic),
                  field(&Inputs::energy_per_work, "energy_per_work", "pJ/FLOP", "energy of one operation")
                      .non_negative(),
                  field(&Inputs::energy_per_data, "energy_per_data", "pJ/B", "energy of moving one byte")
                      .non_negative(),
                  field(&Inputs::static_power, "static_power", "W", "power drawn without any operation")
                      .non_negative(),
                  field(&Inputs::time, key::time).non_negative());
    }
  };
  template <class T> struct Result {
    Energy<T> energy, compute_energy, memory_energy, static_energy;
    static constexpr auto fields() {
      return rows(field(&Result::energy, key::energy),
                  field(&Result::compute_energy, "compute_energy", "J", "part of the arithmetic"),
                  field(&Result::memory_energy, "memory_energy", "J", "part of the memory traffic"),
                  field(&Result::static_energy, "static_energy", "J", "part that only time costs"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto compute = named("compute", in.work * in.energy_per_work);
    const auto memory = named("memory", in.traffic * in.energy_per_data);
    const auto idle = named("static", in.static_power * in.time);
    return {.energy = compute + memory + idle,
            .compute_energy = compute,
            .memory_energy = memory,
            .static_energy = idle};
  }
};

}  // namespace mlsysim
