// The component 'plots' is not built.

#include "absent.hpp"

namespace mlsysim::cli {
void Program::picture_commands() {
  absent_command("plot", "plots");
  absent_command("report", "plots");
}

}  // namespace mlsysim::cli
