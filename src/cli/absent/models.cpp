// The component 'models' is not built.

#include "absent.hpp"

namespace mlsysim::cli {
void Program::model_commands() { absent_command("model-graph", "models"); }

}  // namespace mlsysim::cli
