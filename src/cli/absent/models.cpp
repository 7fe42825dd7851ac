// The component 'models' is not built.

#include <mlsysim/model_graphs/program.hpp>
#include "absent.hpp"

namespace mlsysim::cli {
void Program::model_commands() { absent_command("model-graph", "models"); }

void Program::program_options(CLI::App&) {}
ProgramOptions options_of(const ProgramRequest&) { refuse_absent("a program", "models"); }
Answer model_import(const ProgramRequest&) { refuse_absent("a file of a model", "models"); }

}  // namespace mlsysim::cli
