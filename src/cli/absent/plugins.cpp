// The component 'plugins' is not built.

#include "absent.hpp"

namespace mlsysim::cli {
void Program::plugin_commands() {
  absent_command("plugin", "plugins");
  absent_command("support", "plugins");
}

void set_plugin_request(PluginRequest request) {  // NOLINT(performance-unnecessary-value-param)
  if (!request.paths.empty() || !request.isolated.empty()) refuse_absent("--plugin", "plugins");
}
bool must_load_plugins() { return false; }
bool finds_plugins() { return false; }
Answer load_plugins() { return {}; }
std::vector<Callback*> plugin_callbacks() { return {}; }

}  // namespace mlsysim::cli
