#pragma once
/// Plugins on the command line: the host of this process, and which plugins a call may use.

#include "commands.hpp"

namespace mlsysim {
class Callback;
}

namespace mlsysim::plugin {
class PluginHost;
}

namespace mlsysim::cli {

/// Which plugins a call may use.
struct PluginRequest {
  std::vector<std::string> paths;     ///< of --plugin
  std::vector<std::string> isolated;  ///< of --isolated: names
  bool strict = false, insecure = false, project = false, isolate = false, none = false;
};

/// The host of this process, made on first use with the last request.
[[nodiscard]] plugin::PluginHost& plugins();
/// @throws InputError for a path that is empty
void set_plugin_request(PluginRequest request);
/// Whether the call names plugins, or asks that all of them load.
[[nodiscard]] bool must_load_plugins();
/// Whether there is any plugin that could be loaded; opens none.
[[nodiscard]] bool finds_plugins();

/// Loads everything that is found, so that resolvers, units and entries of plugins are there. Plugins that
/// fail become a warning each; with --strict the exit code is 3, and a plugin that was named on the command
/// line is an error.
[[nodiscard]] Answer load_plugins();

/// Observers of pipelines that plugins registered.
[[nodiscard]] std::vector<Callback*> plugin_callbacks();

}  // namespace mlsysim::cli
