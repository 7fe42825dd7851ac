// The component 'traffic' is not built.

#include "../commands_traffic.hpp"
#include "absent.hpp"

namespace mlsysim::cli {
void Program::traffic_commands() { absent_command("trace", "traffic"); }

std::string take_traffic(const TrafficRequest& request, ScenarioRequest&) {
  if (!request.file.empty()) refuse_absent("--request-trace", "traffic");
  return {};
}
std::string take_traffic(std::vector<std::string>& words, std::span<const FieldInfo>) {
  for (const auto& word : words)
    if (word.starts_with("traffic_file=")) refuse_absent("traffic_file", "traffic");
  return {};
}

}  // namespace mlsysim::cli
