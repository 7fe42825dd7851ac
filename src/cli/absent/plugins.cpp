// The component 'plugins' is not built.

#include "absent.hpp"

namespace mlsysim::cli {
namespace {
constexpr const char* kComponent = "plugins";
constexpr const char* kOption = "MLSYSIM_WITH_PLUGINS";
}  // namespace

void Program::plugin_commands() {
  absent_command("plugin", kComponent, kOption);
  absent_command("support", kComponent, kOption);
}

void set_plugin_request(PluginRequest request) {  // NOLINT(performance-unnecessary-value-param)
  if (!request.paths.empty() || !request.isolated.empty()) refuse_absent("--plugin", kComponent, kOption);
}
bool must_load_plugins() { return false; }
bool finds_plugins() { return false; }
Answer load_plugins() { return {}; }
std::vector<Callback*> plugin_callbacks() { return {}; }

}  // namespace mlsysim::cli
