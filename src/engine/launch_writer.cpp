#include <mlsysim/engine/detail/launch_writer.hpp>

#include <mlsysim/units/error.hpp>

#include <cmath>

namespace mlsysim::detail {
namespace {
LaunchWriter writer = nullptr;
}  // namespace

void set_launch_writer(LaunchWriter with) { writer = with; }

LaunchCommand launch_command(const Scenario& scenario) {
  if (writer == nullptr) return {};
  try {
    return {.text = writer(scenario), .refused = {}};
  } catch (const Error& error) {
    return {.text = {}, .refused = error.facts().message};
  }
}

double admitted_requests(double running) {
  constexpr double deviations = 3.1;
  return std::ceil(running + deviations * std::sqrt(running));
}

}  // namespace mlsysim::detail
