// The component 'sizing' is not built.

#include "absent.hpp"

namespace mlsysim::cli {
void Program::size_commands() {
  for (const char* name : {"size", "decide", "claim"}) absent_command(name, "sizing");
}

}  // namespace mlsysim::cli
