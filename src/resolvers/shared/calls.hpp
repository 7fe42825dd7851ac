#pragma once
// Host time of software that calls its operators one by one.

#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/software.hpp>
#include <mlsysim/timing/views.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {

/// Eager passes of an engine that is written in Python: the host calls every operator and launches its
/// kernel. Lists of launches count calls by themselves, and steps that are too large for a graph are compiled
/// code.
inline void set_calls(std::optional<Execution> asked, const ServingEngine* engine, Device<>& device,
                      Notes& notes) {
  if (engine == nullptr || execution_of(asked, engine) != Execution::eager || is_unfused(*engine)) return;
  const auto call = stated(*engine, &FrameworkHost::operation);
  if (!call || *call <= Time<>() || device.kernels.issue <= Time<>()) return;
  // A device whose host is stated to be slower than that of the runtime stays so.
  const auto launch = stated(*engine, &FrameworkHost::launch).value_or(Time<>());
  device.kernels.issue = std::max(device.kernels.issue, launch) + *call;
  if (notes.wanted())
    notes.assume("kernels.issue", device.kernels.issue,
                 fmt::format("{} calls each operator, zoo/runtimes", engine->name));
}

}  // namespace mlsysim::detail
