#pragma once
/// The host of plugins of this process.

#include <mlsysim/plugin/host.hpp>

namespace mlsysim::python {

/// Made on first use, and never destroyed: resolvers of plugins may be used until the process ends.
[[nodiscard]] plugin::PluginHost& the_host();

}  // namespace mlsysim::python
