#pragma once
/// The table `UnitRegistry::standard()`: the shipped units, or these and those of plugins.

#include <mlsysim/units/unit_registry.hpp>

namespace mlsysim {

/// The shipped table alone.
[[nodiscard]] const UnitRegistry& shipped_units();

/// From now on `UnitRegistry::standard()` is this table, on every thread. References to the tables before
/// stay valid: they are kept until the process ends, so this is for loading plugins and not for every day.
void publish_units(UnitRegistry units);

}  // namespace mlsysim
