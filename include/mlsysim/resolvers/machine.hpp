#pragma once
/// The machine that is meant where nobody names one: that in which a device ships.

#include <mlsysim/specs/system_extra.hpp>
#include <mlsysim/timing/fidelity_model.hpp>

namespace mlsysim {

/// The node of the zoo in which a device ships; none where none is known.
[[nodiscard]] const Node* reference_node(const HardwareNode& hardware);
/// The node in which a device ships, for `devices` of them (noted): the zoo's reference node, the least torus
/// of its pod that holds them, or else nodes of eight.
///
/// Fewer devices than a node holds make a part of one, with that part of the adapters. Nodes that one inner
/// network joins are as large as the devices allow.
[[nodiscard]] Node shipped_node(const HardwareNode& hardware, double devices, Notes& notes);
/// The links of such nodes.
[[nodiscard]] Links<> shipped_links(const FidelityModel& fidelity_model, const HardwareNode& hardware,
                                    double devices, const Conventions& conventions, Notes& notes,
                                    Phase phase);

}  // namespace mlsysim
