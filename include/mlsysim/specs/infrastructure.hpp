#pragma once
/// Electricity grids, ways of cooling and datacenters: carbon, PUE and water per unit of energy.
///
///     facility energy = pue * IT energy
///     water = wue * IT energy
///     emissions = carbon_intensity * facility energy
///
/// Example: 1 kWh of IT energy at a PUE of 1.06 on a grid of 20 gCO2e/kWh emits 21.2 gCO2e.

#include <mlsysim/reflect/field.hpp>
#include <mlsysim/specs/choices.hpp>
#include <mlsysim/units/quantity.hpp>

#include <optional>
#include <string>

namespace mlsysim {

struct Entry;

/// Electricity of a region.
struct GridProfile {
  std::string name;
  CarbonIntensity<> carbon_intensity;
  std::string basis;  ///< lifecycle or direct
  std::optional<double> year;
  std::string primary_source;
  std::optional<double> renewable_share, latitude, longitude;
  const Entry* entry = nullptr;

  template <class G = GridProfile> static constexpr auto fields() {
    return rows(
        field(&G::name, "name", "", "key of the grid"),
        field(&G::carbon_intensity, "carbon_intensity", "gCO2e/kWh", "greenhouse gases per energy")
            .non_negative(),
        field(&G::basis, "basis", "", "lifecycle or direct").defaulted("unstated"),
        field(&G::year, "year", "", "year of the figure").within(1990, 2100),
        field(&G::primary_source, "primary_source", "", "largest source").defaulted("unstated"),
        field(&G::renewable_share, "renewable_share", "", "renewable share of generation").within(0, 1),
        field(&G::latitude, "latitude", "", "degrees north").within(-90, 90),
        field(&G::longitude, "longitude", "", "degrees east").within(-180, 180));
  }
};

/// A way of cooling.
struct CoolingProfile {
  std::string name;
  double pue = 0;
  std::optional<WaterIntensity<>> wue;
  const Entry* entry = nullptr;

  template <class C = CoolingProfile> static constexpr auto fields() {
    return rows(field(&C::name, "name", "", "key of the profile"),
                field(&C::pue, "pue", "", "facility energy over IT energy").at_least(1),
                field(&C::wue, "wue", "L/kWh", "water per IT energy").non_negative());
  }
};

/// A facility on a grid.
struct Datacenter {
  std::string name;
  const GridProfile* grid = nullptr;
  const CoolingProfile* cooling = nullptr;
  double pue = 0;
  std::optional<WaterIntensity<>> wue;
  const Entry* entry = nullptr;

  template <class D = Datacenter> static constexpr auto fields() {
    return rows(field(&D::name, "name", "", "key of the facility"),
                field(&D::grid, "grid", "", "electricity"),
                field(&D::cooling, "cooling", "", "way of cooling").defaulted("absent"),
                field(&D::pue, "pue", "", "facility energy over IT energy").at_least(1),
                field(&D::wue, "wue", "L/kWh", "water per IT energy").non_negative());
  }
};

template <> struct ObjectType<GridProfile> { static constexpr std::string_view name = "grid"; };
template <> struct ObjectType<Datacenter> { static constexpr std::string_view name = "datacenter"; };
template <> struct ObjectType<CoolingProfile> { static constexpr std::string_view name = "cooling"; };

}  // namespace mlsysim
