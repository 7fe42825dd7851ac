#include <mlsysim/engine/detail/launch_writer.hpp>

#include <mlsysim/units/error.hpp>

namespace mlsysim::detail {
namespace {
LaunchWriter writer = nullptr;
}  // namespace

void set_launch_writer(LaunchWriter with) { writer = with; }

std::string launch_command(const Scenario& scenario) {
  if (writer == nullptr) return {};
  try {
    return writer(scenario);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace mlsysim::detail
