// The component 'validation' is not built.

#include "absent.hpp"

namespace mlsysim::cli {
namespace {
constexpr const char* kComponent = "validation";
constexpr const char* kOption = "MLSYSIM_WITH_VALIDATION";
}  // namespace

void Program::validation_commands() { absent_command("validate", kComponent, kOption); }

void Program::calibration_commands() { absent_command("calibrate", kComponent, kOption); }

void Program::measure_command() { absent_command("measure", kComponent, kOption); }

Answer compare_measured(const CompareMeasuredRequest&, const RenderOptions&) {
  refuse_absent("--against with measurements", kComponent, kOption);
}

std::vector<ResidualGroup> measured_groups(const CompareMeasuredRequest&) {
  refuse_absent("--measured", kComponent, kOption);
}

}  // namespace mlsysim::cli
