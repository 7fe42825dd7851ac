#pragma once
/// Traffic that was recorded: shown, as a plan, and in the place of options that were not given.

#include "commands.hpp"

#include <mlsysim/reflect/describe.hpp>

#include <span>
#include <string>
#include <vector>

namespace mlsysim::cli {

struct TrafficRequest {
  std::string file;
  std::string model, hardware;      ///< of a plan; may be empty elsewhere
  double block_tokens = 512;        ///< of a hash of Mooncake's traces
  double characters_per_token = 0;  ///< of files that hold texts; 0: they are refused
};

/// Lengths, arrivals and prefixes of a file with their laws, and what resolvers take of them.
[[nodiscard]] Answer traffic_show(const TrafficRequest& request, const RenderOptions& options);
/// The file as a plan to go on from.
[[nodiscard]] Answer traffic_import(const TrafficRequest& request);

/// Puts what the file says in the place of fields that a scenario does not give, or of inputs where the words
/// name a resolver. @return what was taken, and how well the laws fit, for stderr; empty where there is no
/// file
[[nodiscard]] std::string take_traffic(const TrafficRequest& request, ScenarioRequest& scenario);
/// The same for words key=value, one of which may be traffic_file=FILE.
[[nodiscard]] std::string take_traffic(std::vector<std::string>& words, std::span<const FieldInfo> inputs);

}  // namespace mlsysim::cli
