#pragma once
/// Chooses the machine around a device when the caller names none: nodes, adapters and links.
///
/// Order of choice: the reference node of the zoo, then the smallest torus of the device's pod, then nodes of
/// eight. Fewer devices than a node holds form a part of it with a proportional share of the adapters.
/// Example: 64 H100 are 8 x DGX_H100. Four A100 are half a DGX_A100, with 4 network adapters.

#include <mlsysim/specs/system_extra.hpp>
#include <mlsysim/timing/fidelity_model.hpp>

#include <optional>
#include <string>

namespace mlsysim {

/// The node of the zoo that is marked as reference of this device. Null where there is none.
[[nodiscard]] const Node* reference_node(const HardwareNode& hardware);
/// Devices that an entry stands for: one, or those of a rack.
[[nodiscard]] double devices_in(const HardwareNode& entry);
/// Name of so many of a device: racks that they fill, by the name of the zoo, or their number.
/// @param per_node devices of a node, where somebody states them: nodes of another size make no rack
[[nodiscard]] std::string devices_name(const HardwareNode& hardware, double devices,
                                       std::optional<double> per_node);
/// The node for `devices` devices. The choice is noted.
///
/// Trays of one scale-up domain hold equal parts: six GB200 are two trays of three.
[[nodiscard]] Node shipped_node(const HardwareNode& hardware, double devices, Notes& notes);
/// The links between as many such nodes as `devices` fill.
[[nodiscard]] Links<> shipped_links(const FidelityModel& fidelity_model, const HardwareNode& hardware,
                                    double devices, const Conventions& conventions, Notes& notes,
                                    Phase phase);

}  // namespace mlsysim
