// The component 'models' is not built.

#include "absent.hpp"

namespace mlsysim::cli {
void Program::model_commands() { absent_command("model-graph", "models"); }

void Program::program_options(CLI::App&) {}
Answer model_import(const ProgramRequest&) { refuse_absent("a file of a model", "models"); }

}  // namespace mlsysim::cli
