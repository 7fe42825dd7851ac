// The component 'models' is not built.

#include <mlsysim/model_graphs/program.hpp>
#include "absent.hpp"

namespace mlsysim::cli {
namespace {
constexpr const char* kComponent = "models";
constexpr const char* kOption = "MLSYSIM_WITH_MODELS";
}  // namespace

void Program::model_commands() { absent_command("program", kComponent, kOption); }

void Program::program_options(CLI::App&) {}
ProgramOptions options_of(const ProgramRequest&) { refuse_absent("a program", kComponent, kOption); }
Answer model_import(const ProgramRequest&) { refuse_absent("a file of a model", kComponent, kOption); }

}  // namespace mlsysim::cli
