#pragma once
/// The table behind `UnitRegistry::standard()`: the shipped units, extended by units of plugins.
///
/// Example: before any plugin publishes units, `UnitRegistry::standard()` is `shipped_units()` itself.

#include <mlsysim/units/unit_registry.hpp>

namespace mlsysim {

/// The shipped table alone.
[[nodiscard]] const UnitRegistry& shipped_units();

/// Makes this table `UnitRegistry::standard()` on every thread. References to earlier tables stay valid. They
/// are kept until the process ends, so call it only when plugins are loaded.
void publish_units(UnitRegistry units);

}  // namespace mlsysim
