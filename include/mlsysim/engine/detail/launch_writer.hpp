#pragma once
/// Registers the function that writes launch commands, so that the kernel does not depend on the launch
/// component.
///
/// Without a registered writer, or where the writer throws, the command is empty.
/// Example: Llama3_70B on 8 H100, engine vllm: "vllm serve meta-llama/Llama-3.1-70B-Instruct
/// --tensor-parallel-size 8 --max-model-len 2048 --max-num-seqs 1".

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
