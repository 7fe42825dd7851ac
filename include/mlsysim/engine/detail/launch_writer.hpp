#pragma once
/// Where the component of launches joins the kernel: it writes the command that starts a plan.

#include <mlsysim/engine/scenario.hpp>

#include <string>

namespace mlsysim::detail {

/// Writes the command of a scenario, or those of both of its pools.
/// @throws Error where the engine does not do what the scenario asks for
using LaunchWriter = std::string (*)(const Scenario& scenario);
/// Sets the writer. A component does so before main() begins.
void set_launch_writer(LaunchWriter writer);
/// The command that starts a plan; empty where no writer is there or it has no command for the plan.
[[nodiscard]] std::string launch_command(const Scenario& scenario);

}  // namespace mlsysim::detail
