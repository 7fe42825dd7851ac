#pragma once
// The two pools of a plan with prefill workers, as launches of their own.

#include <mlsysim/launch/launch.hpp>

#include <string>
#include <vector>

namespace mlsysim::detail {

/// One of the two: a replica of it, and the flags that make an engine one.
struct LaunchedPool {
  std::string name;  ///< "prefill", "decode"
  double replicas = 1;
  Scenario each;
  std::string flags;
};

/// @throws InputError, DomainError for a contradictory scenario
[[nodiscard]] std::vector<LaunchedPool> launched_pools(const Scenario& scenario, LaunchFormat format);

}  // namespace mlsysim::detail
