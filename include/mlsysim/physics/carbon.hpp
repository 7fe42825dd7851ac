#pragma once
/// Facility energy, greenhouse gases and water of a period, from the energy of the IT equipment.
///
///   facility_energy = energy pue
///   operational     = facility_energy carbon_intensity
///   embodied        = device_carbon devices used_time / lifetime
///   water           = energy wue
///
/// energy [kWh]. pue: power usage effectiveness. carbon_intensity: grid mean [gCO2e/kWh]. device_carbon:
/// emissions of making one device [kgCO2e]. wue: water usage effectiveness [L/kWh].
/// Limits: yearly means of PUE and grid, not the marginal grid. Water of power plants is not included.
/// Example: 1000 kWh, PUE 1.2, 400 gCO2e/kWh: 480 kgCO2e. With WUE 1.8 L/kWh: 1800 L.
/// Example: 8 devices of 150 kgCO2e used for 30 of 1460 days: 24.7 kgCO2e embodied.
/// @cite gupta2022act, eq. (1)
/// @cite barroso2018datacenter, on power usage effectiveness

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Energy that the whole facility draws for a given IT energy [J].
///
/// Ranges: energy >= 0; pue >= 1.
/// @cite barroso2018datacenter, on power usage effectiveness
struct FacilityEnergy {
  static constexpr LawInfo info{"FacilityEnergy", "facility_energy = energy pue", "barroso2018datacenter",
                                "section on power usage effectiveness",
                                "the yearly mean PUE holds over the period"};
  template <class T> struct Inputs {
    Energy<T> energy;
    T pue;
    static constexpr auto fields() {
      return rows(field(&Inputs::energy, "energy", "kWh", "energy of the IT equipment").non_negative(),
                  field(&Inputs::pue, key::pue));
    }
  };
  template <class T> struct Result {
    Energy<T> facility_energy;
    static constexpr auto fields() { return rows(field(&Result::facility_energy, key::facility_energy)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.facility_energy = in.energy * in.pue};
  }
};

/// Greenhouse gases of the electricity that a facility draws [gCO2e].
///
/// Ranges: both >= 0.
/// @cite patterson2021carbon
struct OperationalCarbon {
  static constexpr LawInfo info{"OperationalCarbon", "operational = facility_energy carbon_intensity",
                                "patterson2021carbon", "energy times grid intensity",
                                "mean intensity of the grid over the period"};
  template <class T> struct Inputs {
    Energy<T> facility_energy;
    CarbonIntensity<T> carbon_intensity;
    static constexpr auto fields() {
      return rows(field(&Inputs::facility_energy, key::facility_energy),
                  field(&Inputs::carbon_intensity, key::carbon_intensity));
    }
  };
  template <class T> struct Result {
    Carbon<T> operational;
    static constexpr auto fields() {
      return rows(
          field(&Result::operational, "operational", "kgCO2e", "greenhouse gases of the electricity"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.operational = in.facility_energy * in.carbon_intensity};
  }
};

/// Share of the manufacturing emissions that falls to a period of use [gCO2e].
///
/// Use beyond the lifetime is charged at the same rate. Ranges: device_carbon, used_time, devices >= 0;
/// lifetime > 0.
/// @cite gupta2022act, eq. (1)
struct EmbodiedCarbon {
  static constexpr LawInfo info{"EmbodiedCarbon", "embodied = device_carbon devices used_time / lifetime",
                                "gupta2022act", "eq. (1)", "emissions are spread evenly over the lifetime"};
  template <class T> struct Inputs {
    Carbon<T> device_carbon;
    T devices;
    Time<T> used_time, lifetime;
    static constexpr auto fields() {
      return rows(field(&Inputs::device_carbon, "device_carbon", "kgCO2e", "emissions of making one device")
                      .non_negative(),
                  field(&Inputs::devices, key::devices), field(&Inputs::used_time, key::used_time),
                  field(&Inputs::lifetime, key::lifetime));
    }
  };
  template <class T> struct Result {
    Carbon<T> embodied;
    static constexpr auto fields() {
      return rows(field(&Result::embodied, "embodied", "kgCO2e", "manufacturing emissions of the period"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.embodied = in.device_carbon * in.devices * (in.used_time / in.lifetime)};
  }
};

/// Operational and embodied emissions of a period together [gCO2e].
///
/// Composition of FacilityEnergy, OperationalCarbon and EmbodiedCarbon; ranges as there.
/// @cite gupta2022act, eq. (1)
struct CarbonFootprint {
  static constexpr LawInfo info{
      "CarbonFootprint",
      "carbon_footprint = energy pue carbon_intensity + device_carbon devices used_time / lifetime",
      "gupta2022act", "eq. (1)", "mean grid intensity; manufacturing spread evenly over the lifetime"};
  template <class T> struct Inputs {
    Energy<T> energy;
    T pue;
    CarbonIntensity<T> carbon_intensity;
    Carbon<T> device_carbon;
    T devices;
    Time<T> used_time, lifetime;
    static constexpr auto fields() {
      return rows(field(&Inputs::energy, "energy", "kWh", "energy of the IT equipment").non_negative(),
                  field(&Inputs::pue, key::pue), field(&Inputs::carbon_intensity, key::carbon_intensity),
                  field(&Inputs::device_carbon, "device_carbon", "kgCO2e", "emissions of making one device")
                      .non_negative(),
                  field(&Inputs::devices, key::devices), field(&Inputs::used_time, key::used_time),
                  field(&Inputs::lifetime, key::lifetime));
    }
  };
  template <class T> struct Result {
    Carbon<T> operational, embodied, carbon_footprint;
    static constexpr auto fields() {
      return rows(field(&Result::operational, "operational", "kgCO2e", "greenhouse gases of the electricity"),
                  field(&Result::embodied, "embodied", "kgCO2e", "manufacturing emissions of the period"),
                  field(&Result::carbon_footprint, key::carbon_footprint));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto drawn = apply<FacilityEnergy, T>({.energy = in.energy, .pue = in.pue}).facility_energy;
    const auto operational =
        apply<OperationalCarbon, T>({.facility_energy = drawn, .carbon_intensity = in.carbon_intensity})
            .operational;
    const auto embodied = apply<EmbodiedCarbon, T>({.device_carbon = in.device_carbon,
                                                    .devices = in.devices,
                                                    .used_time = in.used_time,
                                                    .lifetime = in.lifetime})
                              .embodied;
    return {.operational = operational, .embodied = embodied, .carbon_footprint = operational + embodied};
  }
};

/// Water that a facility evaporates for a given IT energy [L].
///
/// Water usage effectiveness is defined per IT energy, as PUE is. MLSys-im multiplies the facility energy
/// instead, which is too large by the factor PUE. Ranges: both >= 0.
/// @cite greengrid2011wue, definition of WUE
struct WaterUse {
  static constexpr LawInfo info{"WaterUse", "water = energy wue", "greengrid2011wue", "definition of WUE",
                                "on-site water only"};
  template <class T> struct Inputs {
    Energy<T> energy;
    WaterIntensity<T> wue;
    static constexpr auto fields() {
      return rows(field(&Inputs::energy, "energy", "kWh", "energy of the IT equipment").non_negative(),
                  field(&Inputs::wue, key::wue));
    }
  };
  template <class T> struct Result {
    Water<T> water;
    static constexpr auto fields() {
      return rows(field(&Result::water, "water", "L", "water evaporated on site"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.water = in.energy * in.wue};
  }
};

}  // namespace mlsysim
