// The component 'validation' is not built.

#include "absent.hpp"

namespace mlsysim::cli {
void Program::validation_commands() { absent_command("validate", "validation"); }

void Program::calibration_commands() { absent_command("calibrate", "validation"); }

void Program::measure_command() { absent_command("measure", "validation"); }

Answer compare_measured(const CompareMeasuredRequest&, const RenderOptions&) {
  refuse_absent("--against with measurements", "validation");
}

std::vector<ResidualGroup> measured_groups(const CompareMeasuredRequest&) {
  refuse_absent("--measured", "validation");
}

}  // namespace mlsysim::cli
