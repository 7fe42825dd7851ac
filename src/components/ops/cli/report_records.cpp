// Records of compilers on the page of a scenario.

#include "cli/command_picture.hpp"
#include "cli/commands_compile.hpp"

namespace mlsysim::cli {

void add_records(const ReportRequest& asked, ReportPage& page) {
  if (asked.records.empty()) return;
  const auto read = [](const std::vector<std::string>& paths) {
    return ingest({paths.begin(), paths.end()}, {});
  };
  const auto now = read(asked.records);
  page.parts.push_back(breaks_part(now));
  if (!asked.records_before.empty())
    page.parts.push_back(break_changes_part(read(asked.records_before), now));
}

}  // namespace mlsysim::cli
