#pragma once
/// Registers the function that writes launch commands, so that the kernel does not depend on the launch
/// component.
///
/// Without a registered writer the command is empty. Where the writer throws, its message says why.
/// Example: Llama3_70B on 8 H100, engine vllm: "vllm serve meta-llama/Llama-3.1-70B-Instruct
/// --tensor-parallel-size 8 --max-model-len 2176 --max-num-seqs 1".

#include <mlsysim/engine/scenario.hpp>

#include <string>

namespace mlsysim::detail {

/// Writes the command of a scenario, or those of both of its pools.
/// @throws Error where the engine does not do what the scenario asks for
using LaunchWriter = std::string (*)(const Scenario& scenario);
/// Sets the writer. A component does so before main() begins.
void set_launch_writer(LaunchWriter writer);
/// The command that starts a plan, or why there is none.
struct LaunchCommand {
  std::string text;     ///< empty where no writer is there or it has no command for the plan
  std::string refused;  ///< why the writer has none
};
[[nodiscard]] LaunchCommand launch_command(const Scenario& scenario);

/// Requests that a launch admits at once: more run in a thousandth of the time alone. Their number is a
/// Poisson number, which arrivals by chance make.
/// @param running requests that run on average
[[nodiscard]] double admitted_requests(double running);

}  // namespace mlsysim::detail
