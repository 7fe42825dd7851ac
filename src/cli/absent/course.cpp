// The component 'course' is not built.

#include "absent.hpp"

namespace mlsysim::cli {
void Program::course_commands() { absent_command("course", "course"); }

}  // namespace mlsysim::cli
