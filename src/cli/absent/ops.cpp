// The component 'ops' is not built.

#include "absent.hpp"

#include "../divided_search.hpp"
#include "../output.hpp"
#include "../schemas.hpp"

#include <cstdlib>

namespace mlsysim {
// Schemas of what the component reads and writes.
std::string event_schema() { cli::refuse_absent("the schema of events", "ops"); }
std::string observability_schema() { cli::refuse_absent("the schema of observability.yaml", "ops"); }
std::string explain_schema() { cli::refuse_absent("the schema of explain documents", "ops"); }

namespace cli {

Watcher watcher_of_environment() {
  const char* file = std::getenv("MLSYSIM_OBSERVE");
  if (file != nullptr && *file != '\0') refuse_absent("MLSYSIM_OBSERVE", "ops");
  return {};
}

void Program::compile_commands() { absent_command("graph-breaks", "ops"); }

void Program::ci_commands() {
  absent_command("ci", "ops");
  absent_command("watch", "ops");
}

void Program::divided_commands() {
  absent_command("merge", "ops");
  absent_command("submit", "ops");
}
Answer divided_search(const ScenarioRequest&, const SearchRequest&, const RenderOptions&) {
  refuse_absent("a search with --shard, --state, --rows or --mpi", "ops");
}
Answer sampled_on_ranks(const std::function<Answer(const SharedSamples&)>&) { refuse_absent("--mpi", "ops"); }

Answer Program::configuration(const CLI::App*) { refuse_absent("--print-config", "ops"); }
void add_records(ReportPage&, const std::vector<std::string>& records, const std::vector<std::string>&) {
  if (!records.empty()) refuse_absent("records of compilers", "ops");
}

}  // namespace cli
}  // namespace mlsysim
