// A web page has no processes, sockets, shared libraries or disk. Commands that need them are left out; other
// commands that reach such a function report that it is missing.

#include "cli/child_process.hpp"
#include "cli/command_agents.hpp"
#include "cli/divided_search.hpp"
#include "cli/output.hpp"
#include "cli/program.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/model_graphs/model_path.hpp>
#include <mlsysim/ops/events/exporters.hpp>
#include <mlsysim/ops/graph_breaks/ingest.hpp>
#include <mlsysim/plot/front_beside.hpp>
#include <mlsysim/plot/render.hpp>
#include <mlsysim/plot/report_page.hpp>
#include <mlsysim/plot/thing_pictures.hpp>
#include <mlsysim/validation/measured_table.hpp>
#include <mlsysim/validation/validate.hpp>
#include <mlsysim/zoo/detail/model_reader.hpp>

namespace mlsysim {
namespace {

constexpr const char* kInstall = "the installed program mlsysim does it";
constexpr Fault kAbsent{.id = "mlsysim.web.001",
                        .message = "this is not part of the explorer",
                        .expected = "what a page can do by itself",
                        .hint = kInstall};

}  // namespace

// Files come in by the page, and go out as answers.
void files::check_target(const std::filesystem::path& file, const WriteHow&) {
  throw SolverError(kAbsent.with({.found = "writing '" + file.generic_string() + "'",
                                  .hint = "name a form alone, such as -o svg, and keep the answer"}));
}
void files::write(const std::filesystem::path& file, std::string_view, const WriteHow& how) {
  check_target(file, how);
}
files::Lock::Lock(const std::filesystem::path& file) { check_target(file, {}); }
files::Lock::~Lock() = default;

// Closing the page ends a command: nobody asks it to end with what it has.
cli::InterruptScope::InterruptScope() = default;
cli::InterruptScope::~InterruptScope() = default;
const CancelToken& cli::InterruptScope::token() {
  static const CancelToken none;
  return none;
}

// Programs need a reader of protobuf and archives.
bool is_program_file(std::string_view path) {
  auto file = path.substr(0, path.find('?'));
  if (file.ends_with(".gz")) file.remove_suffix(3);
  for (const std::string_view end :
       {".mlir", ".stablehlo", ".hlo", ".bc", ".mlirbc", ".onnx", ".pt2", ".log"})
    if (file.ends_with(end)) return true;
  return false;
}
// Readers of other endings come with plugins.
bool has_other_reader(std::string_view) { return false; }
bool names_model(std::string_view path) { return is_program_file(path) || is_model_file(std::string(path)); }
ModelFile model_of_path(const std::string& path, const ProgramOptions&) {
  if (is_program_file(path)) throw SolverError(kAbsent.with({.found = "a program, '" + path + "'"}));
  return read_model(path);
}

// The page reads models, and joins the kernel as the component does.
namespace {
[[maybe_unused]] const bool registered = [] {
  set_model_reader({.names_model = names_model,
                    .names_program = is_program_file,
                    .read = [](const std::string& path, std::vector<std::string>& notes) {
                      auto model = model_of_path(path, {});
                      notes = model.notes;
                      return model_zoo(model);
                    }});
  return true;
}();
}  // namespace

// The explorer is the page: what it shows is not written down as another one.
ReportPage report_page(const Scenario&, const Scenario*, std::span<const Assumption>) {
  throw SolverError(kAbsent.with({.found = "a report"}));
}
std::string to_html(const ReportPage&) { throw SolverError(kAbsent.with({.found = "a report"})); }
std::string to_markdown(const ReportPage&) { throw SolverError(kAbsent.with({.found = "a report"})); }
std::string to_text(const ReportPage&, const RenderOptions&, std::size_t) {
  throw SolverError(kAbsent.with({.found = "a report"}));
}

std::string drawn_by_librsvg(const Picture&, PictureForm) {
  throw SolverError(kAbsent.with({.found = "a picture as PNG or PDF", .hint = "ask for svg"}));
}

// Forms of what a page neither writes nor reads.
std::string event_schema() { throw SolverError(kAbsent.with({.found = "the schema of events"})); }
std::string observability_schema() {
  throw SolverError(kAbsent.with({.found = "the schema of observability.yaml"}));
}
std::string explain_schema() {
  throw SolverError(kAbsent.with({.found = "the schema of explain documents"}));
}

// The tables of measurements are left at home: they are larger than all else.
std::vector<NearRow> nearest_rows(const Scenario&, const Zoo&, std::size_t) { return {}; }
std::vector<MeasuredPoint> measured_points(const ExploreAnswer&, const Space&, const Scenario&, const Zoo&) {
  throw SolverError(kAbsent.with({.found = "tables of measurements"}));
}
std::vector<std::string> table_names(const std::filesystem::path&) { return {}; }
std::filesystem::path whole_tables() { return {}; }
MeasuredTable load_table(const std::string& name, const std::filesystem::path&,
                         const std::filesystem::path&) {
  throw SolverError(kAbsent.with({.found = "the table '" + name + "'"}));
}
TableResult validate(const MeasuredTable&, const Zoo&, Depth, const Constants*, std::size_t) {
  throw SolverError(kAbsent.with({.found = "a table of measurements"}));
}

namespace cli {

void Program::compile_commands() {}
void Program::ci_commands() {}
void Program::course_commands() {}
void Program::plugin_commands() {}
void Program::validation_commands() {}
void Program::calibration_commands() {}
void Program::measure_command() {}

Answer Program::configuration(const CLI::App*) {
  throw SolverError(kAbsent.with({.found = "--print-config"}));
}

// Taken by value, as where there are plugins: there it is moved to where it stays.
void set_plugin_request(PluginRequest /*request*/) {}  // NOLINT(performance-unnecessary-value-param)
Answer zoo_new(const std::string&, const std::string&, const std::string&) {
  throw SolverError(kAbsent.with({.found = "a file to fill in"}));
}
std::string completion_script(std::string_view) {
  throw SolverError(kAbsent.with({.found = "words for a shell"}));
}
bool must_load_plugins() { return false; }
bool finds_plugins() { return false; }
Answer load_plugins() { return {}; }
std::vector<Callback*> plugin_callbacks() { return {}; }

void print_html(const std::string&, const std::string&, const std::string&) {
  throw SolverError(kAbsent.with({.found = "printing", .hint = "ask for html, and print that"}));
}
void add_records(ReportPage&, const std::vector<std::string>& records, const std::vector<std::string>&) {
  if (!records.empty()) throw SolverError(kAbsent.with({.found = "records of compilers"}));
}
Answer compare_measured(const CompareMeasuredRequest&, const RenderOptions&) {
  throw SolverError(kAbsent.with({.found = "measurements of your own"}));
}
std::vector<ResidualGroup> measured_groups(const CompareMeasuredRequest&) {
  throw SolverError(kAbsent.with({.found = "measurements of your own"}));
}
ProgramOptions options_of(const ProgramRequest&) { return {}; }
Answer program_show(const ProgramRequest& request, const RenderOptions&) {
  throw SolverError(kAbsent.with({.found = "a program, '" + request.path + "'"}));
}

// A page starts no other program.
Ended run_child(std::vector<std::string>) { return {.status = 127}; }

void become_server(std::vector<std::string>) {
  throw SolverError(kAbsent.with({.found = "a server for agents"}));
}

// Nobody observes a page: there is no variable that says where events go.
Watcher watcher_of_environment() { return {}; }
Observed::Observed() = default;
std::function<void(const Progress&)> Observed::progress(const std::string&,
                                                        std::function<void(const Progress&)> next) {
  return next;
}
void Observed::swept(const std::string&, double) {}
std::string Observed::sent() { return {}; }

// A page is one process, and a search in it is gone on with by nobody.
void Program::divided_commands() {}
Answer divided_search(const ScenarioRequest&, const SearchRequest&, const RenderOptions&) {
  throw SolverError(kAbsent.with({.found = "--shard, --state, --rows or --mpi"}));
}
Answer sampled_on_ranks(const std::function<Answer(const SharedSamples&)>&) {
  throw SolverError(kAbsent.with({.found = "--mpi"}));
}

}  // namespace cli
}  // namespace mlsysim

// A page has no pages of memory to give back: the library for WebAssembly maps files by reading them.
extern "C" int madvise(void*, std::size_t, int) { return 0; }
