#pragma once
// size, decide and claim.

#include "cli/commands.hpp"

namespace mlsysim::cli {

/// How many devices, or which: the load is `arrival_rate` of the scenario.
struct SizeRequest {
  std::vector<std::string> on;      ///< machines
  std::vector<std::string> prices;  ///< MACHINE=PRICE
  std::vector<ServiceLimit> limits;
  std::string within;  ///< time of a training run: "90 d"
  double most_devices = 65536, most_replica_devices = 64;
  int level = 80;  ///< percent of the interval
  bool disaggregated = false;
  std::vector<std::string> precisions;  ///< that are tried
  std::string points;                   ///< of decide: a file of points for `mlsysim measure`; empty: none
  std::string output = "text";      ///< a form of answers, html, or a file that ends in .html, .md or .pdf
  bool force = false;               ///< replace a file that others wrote
  CompareMeasuredRequest measured;  ///< of decide: a file of one's own; empty: none
};
/// The first target is the model; further ones are machines, as those of --on.
[[nodiscard]] Answer size_question(ScenarioRequest request, SizeRequest asked, const RenderOptions& options);
[[nodiscard]] Answer decide_question(ScenarioRequest request, SizeRequest asked,
                                     const RenderOptions& options);
/// The targets are the words of a claim: "Llama3_70B 8xH100 412 token/s/gpu at itl 20 ms".
[[nodiscard]] Answer claim_question(const ScenarioRequest& request, const RenderOptions& options);

}  // namespace mlsysim::cli
