#pragma once
/// Sides of a torus of devices, and the number of devices that one inner network joins.
///
///     sides with side[0] * side[1] * ... = devices and the least sum, ascending
///     joined_inside = max(devices of a node, min(devices of a domain, devices of the fleet))
///
/// The topology names the dimensions: "torus_1d", "torus_2d" or "torus_3d". Other topologies have no sides.
/// Example: 8960 chips in three dimensions are 16 x 20 x 28, 9216 are 16 x 24 x 24.

#include <mlsysim/specs/system.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Sides of a torus of `devices` devices. Empty where the topology is not a torus.
[[nodiscard]] std::vector<double> torus_sides(std::string_view topology, double devices);
/// The axes of a torus as levels, innermost first.
[[nodiscard]] std::vector<LinkLevel> torus_levels(std::span<const double> sides);
/// Devices of a fleet that one inner network joins: those of a node, or of a domain of which nodes are parts.
[[nodiscard]] double joined_inside(const Fleet& fleet);

}  // namespace mlsysim
