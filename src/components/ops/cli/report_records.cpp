// Records of compilers on the page of a scenario.

#include "cli/commands_compile.hpp"
#include "cli/output.hpp"

namespace mlsysim::cli {

void add_records(ReportPage& page, const std::vector<std::string>& records,
                 const std::vector<std::string>& before) {
  if (records.empty()) return;
  const auto read = [](const std::vector<std::string>& paths) {
    return ingest({paths.begin(), paths.end()}, {});
  };
  const auto now = read(records);
  page.parts.push_back(breaks_part(now));
  if (!before.empty()) page.parts.push_back(break_changes_part(read(before), now));
}

}  // namespace mlsysim::cli
