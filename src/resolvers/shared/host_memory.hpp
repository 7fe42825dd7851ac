#pragma once
// The memory of the host, where it computes with what it holds.

#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/conventions.hpp>

#include <algorithm>
#include <optional>

namespace mlsysim::detail {

/// Bandwidth at which the host of a node reads its memory for one of the devices that share it, sustained.
[[nodiscard]] inline Bandwidth<> host_bandwidth(const std::optional<Bandwidth<>>& nominal, double devices,
                                                const Conventions& c, Notes& notes) {
  if (!nominal) notes.assume("host_memory_bandwidth", c.host_memory_bandwidth, kDefaults);
  notes.assume("host_stream", c.host_stream, kDefaults);
  return nominal.value_or(c.host_memory_bandwidth) * c.host_stream / std::max(devices, 1.0);
}

}  // namespace mlsysim::detail
