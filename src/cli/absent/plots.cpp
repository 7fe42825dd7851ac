// The component 'plots' is not built.

#include "absent.hpp"

namespace mlsysim::cli {
namespace {
constexpr const char* kComponent = "plots";
constexpr const char* kOption = "MLSYSIM_WITH_PLOTS";
}  // namespace

void Program::picture_commands() {
  absent_command("plot", kComponent, kOption);
  absent_command("report", kComponent, kOption);
}

}  // namespace mlsysim::cli
