#pragma once
/// Commands for what compilers of models leave behind.

#include "commands.hpp"

#include <mlsysim/compile/ingest.hpp>

#include <string>
#include <vector>

namespace mlsysim::cli {

struct IngestRequest {
  std::vector<std::string> paths;
  IngestHow how;
  std::string by = "type";  ///< or "place"
  bool strict = false, keep_duplicates = false, document = false;
};
/// Runs, breaks and phases. @throws InputError
[[nodiscard]] Answer compile_ingest(const IngestRequest& request, const RenderOptions& options);

}  // namespace mlsysim::cli
