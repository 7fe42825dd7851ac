#pragma once
/// Where the component of launches joins the kernel: it writes the command that starts a plan.

#include <mlsysim/engine/scenario.hpp>

#include <cstdint>
#include <string>

namespace mlsysim::detail {

/// The part of a service that the launched engine runs: all of it, or one half of a disaggregated service.
enum class ServingRole : std::uint8_t { whole, prefill, decode };

/// Writes the command of a scenario. @throws Error where the engine does not do what the scenario asks for
using LaunchWriter = std::string (*)(const Scenario& scenario, ServingRole role);
/// Sets the writer. A component does so before main() begins.
void set_launch_writer(LaunchWriter writer);
/// The command that starts a plan; empty where no writer is there or it has no command for the plan.
[[nodiscard]] std::string launch_command(const Scenario& scenario, ServingRole role = ServingRole::whole);

}  // namespace mlsysim::detail
