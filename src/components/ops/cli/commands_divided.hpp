#pragma once
/// Commands for searches as job arrays.

#include "cli/commands.hpp"

namespace mlsysim::cli {

/// A search as a job array.
struct SubmitRequest {
  bool slurm = false;
  std::uint64_t shards = 1;
  std::string folder = "mlsysim-run";
  std::vector<std::string> options, words;
};
/// The script that submits it, and the job that merges behind it.
[[nodiscard]] Answer submit_script(const SubmitRequest& request);
[[nodiscard]] Answer merge_states(const std::vector<std::string>& paths, const RenderOptions& options);

}  // namespace mlsysim::cli
