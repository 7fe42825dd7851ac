// The component 'ops' is not built.

#include "absent.hpp"

#include "../observed.hpp"

#include <mlsysim/ops/events/exporters.hpp>
#include <mlsysim/ops/graph_breaks/ingest.hpp>

#include <cstdlib>

namespace mlsysim {
namespace {
constexpr const char* kComponent = "ops";
constexpr const char* kOption = "MLSYSIM_WITH_OPS";
}  // namespace

// Schemas of what the component reads and writes.
std::string event_schema() { cli::refuse_absent("the schema of events", kComponent, kOption); }
std::string observability_schema() {
  cli::refuse_absent("the schema of observability.yaml", kComponent, kOption);
}
std::string explain_schema() { cli::refuse_absent("the schema of explain documents", kComponent, kOption); }

namespace cli {

Watcher watcher_of_environment() {
  const char* file = std::getenv("MLSYSIM_OBSERVE");
  if (file != nullptr && *file != '\0') refuse_absent("MLSYSIM_OBSERVE", kComponent, kOption);
  return {};
}

void Program::compile_commands() { absent_command("compile", kComponent, kOption); }

void Program::ci_commands() {
  absent_command("ci", kComponent, kOption);
  absent_command("watch", kComponent, kOption);
}

Answer Program::configuration(const CLI::App*) { refuse_absent("--print-config", kComponent, kOption); }
void add_records(const ReportRequest& asked, ReportPage&) {
  if (!asked.records.empty()) refuse_absent("records of compilers", kComponent, kOption);
}

}  // namespace cli
}  // namespace mlsysim
