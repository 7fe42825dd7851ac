// The component 'launches' is not built.

#include "absent.hpp"

namespace mlsysim::cli {
namespace {
constexpr const char* kComponent = "launches";
constexpr const char* kOption = "MLSYSIM_WITH_LAUNCHES";
}  // namespace

void Program::launch_commands() {
  absent_command("import", kComponent, kOption);
  absent_command("fit", kComponent, kOption);
}

bool is_launch(const std::string&) { return false; }
Answer launch_export(const ScenarioRequest&, const LaunchRequest&) {
  refuse_absent("export --to", kComponent, kOption);
}

}  // namespace mlsysim::cli
