#pragma once
/// Devices on a torus, and what one inner network joins.

#include <mlsysim/specs/system.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Sides of a torus of so many devices, the least first: as near to equal as they can be, which is their
/// least sum. None where the topology names no torus ("torus_3d").
///
/// Worked: 8960 chips in three dimensions are 16 x 20 x 28, 9216 are 16 x 24 x 24.
[[nodiscard]] std::vector<double> torus_sides(std::string_view topology, double devices);
/// The axes of a torus as levels, innermost first.
[[nodiscard]] std::vector<LinkLevel> torus_levels(std::span<const double> sides);
/// Devices of a fleet that one inner network joins: those of a node, or of a domain of which nodes are parts.
[[nodiscard]] double joined_inside(const Fleet& fleet);

}  // namespace mlsysim
