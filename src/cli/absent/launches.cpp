// The component 'launches' is not built.

#include "absent.hpp"

namespace mlsysim::cli {
void Program::launch_commands() {
  absent_command("import", "launches");
  absent_command("fit", "launches");
}

bool is_launch(const std::string&) { return false; }
Answer launch_export(const ScenarioRequest&, const LaunchRequest&) {
  refuse_absent("export --to", "launches");
}

}  // namespace mlsysim::cli
