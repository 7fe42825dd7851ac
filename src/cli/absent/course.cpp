// The component 'course' is not built.

#include "absent.hpp"

namespace mlsysim::cli {
namespace {
constexpr const char* kComponent = "course";
constexpr const char* kOption = "MLSYSIM_WITH_COURSE";
}  // namespace

void Program::course_commands() { absent_command("course", kComponent, kOption); }

}  // namespace mlsysim::cli
