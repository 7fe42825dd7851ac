#pragma once
/// Plugins on the command line: the host of this process, and the commands about it.

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

[[nodiscard]] Answer plugin_list(const RenderOptions& options);
[[nodiscard]] Answer plugin_show(const std::string& name, const RenderOptions& options);
[[nodiscard]] Answer plugin_caps(const std::string& name, const RenderOptions& options);
[[nodiscard]] Answer plugin_reload(const std::string& name, const RenderOptions& options);
/// Runs mlsysim-plugin-check, which lies beside this program, with these words.
[[nodiscard]] Answer plugin_check(const std::vector<std::string>& words);
/// Writes a project that builds and passes the kit. @param language c, cpp or python
[[nodiscard]] Answer plugin_new(const std::string& name, const std::string& language,
                                const std::string& folder);

/// Request of `mlsysim support`; an empty name means every program, hardware or backend.
struct SupportRequest {
  std::string program, hardware, backend;
  std::vector<std::string> files;  ///< programs, instead of a model of the zoo
  int effort = 2;
  bool aggressive = false;
};
/// Exit code of a verdict that is neither yes nor no.
inline constexpr Exit kMaybe{4};
/// Yes, no or maybe, with every reason; one answer sets the exit code: 0, 1, 4.
[[nodiscard]] Answer support(const SupportRequest& request, const RenderOptions& options);
/// Reads a file with an importer, and returns the text of a zoo file.
[[nodiscard]] Answer plugin_import(const std::string& importer, const std::string& file);
[[nodiscard]] Answer plugin_export(const std::string& exporter, const std::string& entry);

}  // namespace mlsysim::cli
