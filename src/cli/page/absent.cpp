// What a page does not have: processes, sockets, shared libraries and a disk. Commands that live of them are
// not there at all; what other commands reach says what is missing.

#include "cli/commands.hpp"
#include "cli/observed.hpp"
#include "cli/program.hpp"
#include "cli/ranks.hpp"
#include "cli/search_bounds.hpp"
#include "cli/search_files.hpp"

#include <mlsysim/compile/ingest.hpp>
#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/observe/exporters.hpp>
#include <mlsysim/picture/front_beside.hpp>
#include <mlsysim/picture/render.hpp>
#include <mlsysim/picture/report_page.hpp>
#include <mlsysim/picture/thing_pictures.hpp>
#include <mlsysim/programs/model_path.hpp>
#include <mlsysim/validation/measured_table.hpp>

namespace mlsysim {
namespace {

[[noreturn]] void refuse(std::string what, std::string hint) {
  throw SolverError({.id = "mlsysim.web.001",
                     .message = "this is not part of the explorer",
                     .found = std::move(what),
                     .expected = "what a page can do by itself",
                     .hint = std::move(hint)});
}
constexpr const char* kInstall = "the installed program mlsysim does it";

}  // namespace

// Files come in by the page, and go out as answers.
void files::check_target(const std::filesystem::path& file, const WriteHow&) {
  refuse("writing '" + file.generic_string() + "'", "name a form alone, such as -o svg, and keep the answer");
}
void files::write(const std::filesystem::path& file, std::string_view, const WriteHow& how) {
  check_target(file, how);
}
files::Lock::Lock(const std::filesystem::path& file) { check_target(file, {}); }
files::Lock::~Lock() = default;

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
  if (is_program_file(path)) refuse("a program, '" + path + "'", kInstall);
  return read_model(path);
}

// The explorer is the page: what it shows is not written down as another one.
ReportPage report_page(const Scenario&, const Scenario*, std::span<const Assumption>) {
  refuse("a report", kInstall);
}
std::string to_html(const ReportPage&) { refuse("a report", kInstall); }
std::string to_markdown(const ReportPage&) { refuse("a report", kInstall); }
std::string to_text(const ReportPage&, const RenderOptions&, std::size_t) { refuse("a report", kInstall); }

std::string to_png(const Picture&) { refuse("a picture as PNG", "ask for svg"); }

// Forms of what a page neither writes nor reads.
std::string event_schema() { refuse("the schema of events", kInstall); }
std::string observability_schema() { refuse("the schema of observability.yaml", kInstall); }
std::string explain_schema() { refuse("the schema of explain documents", kInstall); }

// The tables of measurements are left at home: they are larger than all else.
std::vector<NearRow> nearest_rows(const Scenario&, const Zoo&, std::size_t) { return {}; }
std::vector<MeasuredPoint> measured_points(const ExploreAnswer&, const Space&, const Scenario&, const Zoo&) {
  refuse("tables of measurements", kInstall);
}
std::vector<std::string> table_names(const std::filesystem::path&) { return {}; }
std::filesystem::path whole_tables() { return {}; }
MeasuredTable load_table(const std::string& name, const std::filesystem::path&,
                         const std::filesystem::path&) {
  refuse("the table '" + name + "'", kInstall);
}
TableResult validate(const MeasuredTable&, const Zoo&, Depth, const Constants*, std::size_t) {
  refuse("a table of measurements", kInstall);
}

namespace cli {

void Program::compile_commands() {}
void Program::ci_commands() {}
void Program::course_commands() {}
void Program::plugin_commands() {}
void Program::validation_commands() {}
void Program::calibration_commands() {}

Answer Program::configuration(const CLI::App*) { refuse("--print-config", kInstall); }

// Taken by value, as where there are plugins: there it is moved to where it stays.
void set_plugin_request(PluginRequest /*request*/) {}  // NOLINT(performance-unnecessary-value-param)
Answer zoo_new(const std::string&, const std::string&, const std::string&) {
  refuse("a file to fill in", kInstall);
}
std::string completion_script(std::string_view) { refuse("words for a shell", kInstall); }
bool must_load_plugins() { return false; }
bool finds_plugins() { return false; }
Answer load_plugins() { return {}; }
std::vector<Callback*> plugin_callbacks() { return {}; }

void print_page(const ReportPage&, const std::string&) { refuse("printing", "ask for html, and print that"); }
void add_records(const ReportRequest& asked, ReportPage&) {
  if (!asked.records.empty()) refuse("records of compilers", kInstall);
}
Answer compare_measured(const CompareMeasuredRequest&, const RenderOptions&) {
  refuse("measurements of your own", kInstall);
}
ProgramOptions options_of(const ProgramRequest&) { return {}; }
Answer program_show(const ProgramRequest& request, const RenderOptions&) {
  refuse("a program, '" + request.path + "'", kInstall);
}

// Nobody observes a page: there is no variable that says where events go.
Observed::Observed() = default;
std::function<void(const Progress&)> Observed::progress(const std::string&,
                                                        std::function<void(const Progress&)> next) {
  return next;
}
void Observed::swept(const std::string&, double) {}
std::string Observed::sent() { return {}; }

// A page is one process. Texts are taken by value, as where there are ranks that join them.
const mlsysim_ranks& ranks() { refuse("--mpi", kInstall); }
Answer on_ranks(const std::function<Answer()>&) { refuse("--mpi", kInstall); }
// NOLINTNEXTLINE(performance-unnecessary-value-param)
std::string joined_over_ranks(const mlsysim_ranks&, std::string,
                              const std::function<std::string(const std::string&, const std::string&)>&) {
  refuse("--mpi", kInstall);
}
std::vector<double> numbers_of_ranks(const mlsysim_ranks&, const std::vector<double>&) {
  refuse("--mpi", kInstall);
}
void refuse_interrupted_rank(const std::string&) { refuse("--mpi", kInstall); }
std::optional<BoundedPart> bounded_on_ranks(const AskedSpace&, const ExploreOptions&) {
  refuse("--mpi", kInstall);
}

// A search in a page is gone on with by nobody.
Answer submit_script(const SubmitRequest&) { refuse("a job array", kInstall); }
nlohmann::ordered_json read_state_file(const std::string& path, std::string_view) {
  refuse("the state '" + path + "'", kInstall);
}
void refuse_state_file(const std::string& path, std::string_view, const std::string&) {
  refuse("the state '" + path + "'", kInstall);
}
void replace_state_file(const std::string& path, const nlohmann::ordered_json&) {
  refuse("the state '" + path + "'", kInstall);
}
bool goes_on_from_state(const SearchRequest& asked) {
  if (!asked.state.empty()) refuse("--state", kInstall);
  return false;
}
Shard shard_of(const std::string& text) {
  if (!text.empty()) refuse("--shard", kInstall);
  return {};
}
Answer bounded_with_states(const AskedSpace&, const ExploreOptions&, const SearchRequest&, const std::string&,
                           const nlohmann::ordered_json&, const RenderOptions&) {
  refuse("--state", kInstall);
}
bool is_bounded_state(const std::string& path) { refuse("the state '" + path + "'", kInstall); }
BoundedPart merged_bounds(const AskedSpace&, const std::vector<std::string>&) { refuse("--state", kInstall); }
Answer write_rows(const Space&, const Question&, const nlohmann::ordered_json&, const SearchRequest&,
                  const mlsysim_ranks*, const std::atomic<bool>&, const RenderOptions&) {
  refuse("--rows", kInstall);
}

}  // namespace cli
}  // namespace mlsysim
