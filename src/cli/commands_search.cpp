#include "commands.hpp"

#include <mlsysim/explore/optimize.hpp>
#include <mlsysim/report/explore_report.hpp>
#include <mlsysim/resolve/registry.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <unistd.h>

namespace mlsysim::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view kShard = "mlsysim/shard@1";
constexpr std::uint64_t kMostRows = 10000;  // rows that are printed rather than written to a file

std::atomic<bool> interrupted{false};
extern "C" void on_search_interrupt(int) { interrupted = true; }

/// Ctrl-C ends the search with what it has, while this lives.
class InterruptScope {
 public:
  InterruptScope() : before_(std::signal(SIGINT, on_search_interrupt)) {}
  ~InterruptScope() { std::signal(SIGINT, before_); }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  void (*before_)(int);
};

/// A value of an axis: of a field of Scenario by its table, of anything else as a quantity.
DynamicValue axis_value(FieldReader& reader, std::string_view name, std::string_view text) {
  if (name == "hardware") {
    if (const auto* fleet = zoo().find<Fleet>(text); fleet != nullptr) return fleet;
  }
  if (const auto* field = find_field(describe<Scenario>(), name); field != nullptr) return reader.read(*field, text);
  return AnyQuantity::parse(text);
}

struct Search {
  BuiltScenario built;
  std::unique_ptr<FieldReader> reader;
  std::unique_ptr<Space> space;
  Question question;
};

Search search_of(const ScenarioRequest& request, const SearchRequest& asked) {
  Search s;
  s.reader = std::make_unique<FieldReader>(zoo());
  std::vector<SpaceAxis> axes;
  const auto read = [&](std::string_view name, std::string_view value) { return axis_value(*s.reader, name, value); };
  for (const auto& text : asked.axes) {
    if (!text.starts_with("@")) {
      axes.push_back(parse_axis(text, read));
      continue;
    }
    for (auto& axis : read_axes(text.substr(1), read)) axes.push_back(std::move(axis));
  }
  if (!request.targets.empty() && ResolverRegistry::standard().find(request.targets[0]) != nullptr) {
    s.space = std::make_unique<Space>(resolver_problem(request.targets), std::move(axes));
  } else {
    s.built = scenario_of(request);
    s.space = std::make_unique<Space>(problem_of(s.built.scenario, s.built.keep), std::move(axes));
  }
  for (const auto& text : asked.minimize) s.question.objectives.push_back({Goal::minimize, text});
  for (const auto& text : asked.maximize) s.question.objectives.push_back({Goal::maximize, text});
  s.question.constraints = asked.constraints;
  s.question.show = asked.show;
  s.question.top = asked.top;
  if (!asked.histogram.empty()) s.question.histogram = asked.histogram;
  s.question.implicit_constraints = !asked.anything;
  return s;
}

Json request_json(const ScenarioRequest& r, const SearchRequest& s) {
  return {{"targets", r.targets}, {"fields", r.fields}, {"region", r.region}, {"axes", s.axes}, {"minimize", s.minimize}, {"maximize", s.maximize},
          {"constraints", s.constraints}, {"show", s.show}, {"top", s.top}, {"histogram", s.histogram}, {"anything", s.anything}};
}

void request_from(const Json& j, ScenarioRequest& r, SearchRequest& s) {
  r.targets = j.at("targets").get<std::vector<std::string>>();
  r.fields = j.at("fields").get<std::map<std::string, std::string>>();
  r.region = j.at("region");
  s.axes = j.at("axes").get<std::vector<std::string>>();
  s.minimize = j.at("minimize").get<std::vector<std::string>>();
  s.maximize = j.at("maximize").get<std::vector<std::string>>();
  s.constraints = j.at("constraints").get<std::vector<std::string>>();
  s.show = j.at("show").get<std::vector<std::string>>();
  s.top = j.at("top");
  s.histogram = j.at("histogram");
  s.anything = j.at("anything");
}

[[noreturn]] void file_fault(const std::string& path, std::string message, std::string hint) {
  throw InputError({.id = "mlsysim.cli.070", .message = std::move(message), .key = path, .found = fmt::format("'{}': {}", path, std::strerror(errno)),
                    .hint = std::move(hint)});
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) file_fault(path, "a file cannot be read", "check the path");
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

/// Whole or not at all: written beside and moved.
void write_file(const std::string& path, const std::string& text) {
  const std::string beside = path + ".part";
  std::FILE* f = std::fopen(beside.c_str(), "wb");
  if (f == nullptr) file_fault(path, "a file cannot be written", "check the folder");
  const bool written = std::fwrite(text.data(), 1, text.size(), f) == text.size() && std::fflush(f) == 0 && ::fsync(::fileno(f)) == 0;
  const int failed = errno;
  std::fclose(f);
  errno = failed;
  if (!written) {
    std::remove(beside.c_str());
    errno = failed;
    file_fault(path, "a file cannot be written to its end", "make room on the disk");
  }
  std::error_code moved;
  std::filesystem::rename(beside, path, moved);
  if (moved) file_fault(path, "a file cannot be put in place", "check the folder");
}

/// Rows to a file as they are computed: CSV, or a JSON object per line where its name ends so.
void write_rows(const Space& space, const Question& question, const std::string& path, bool overwrite) {
  std::error_code none;
  if (!overwrite && std::filesystem::exists(path, none))
    throw InputError({.id = "mlsysim.cli.071", .message = "the file exists", .key = "--rows", .found = fmt::format("'{}'", path),
                      .expected = "a new file", .hint = "choose another name, or add --overwrite"});
  std::FILE* f = std::fopen(path.c_str(), "wb");
  if (f == nullptr) file_fault(path, "a file cannot be written", "check the folder");
  const bool lines = path.ends_with(".jsonl") || path.ends_with(".ndjson");
  fmt::memory_buffer out;
  const auto flush = [&] {
    if (std::fwrite(out.data(), 1, out.size(), f) != out.size()) {
      const int failed = errno;
      std::fclose(f);
      errno = failed;
      file_fault(path, "the rows cannot be written to their end", "make room on the disk; what was written is valid up to its last line");
    }
    out.clear();
  };
  const auto quoted = [&](std::string_view text) { return lines || text.find(',') != std::string_view::npos ? fmt::format("\"{}\"", text) : std::string(text); };
  std::vector<std::string> names{"index"};
  for (const auto& a : space.axes()) names.push_back(a.title());
  names.emplace_back("feasible");
  const ExpressionScope scope{space.sample().entry.inputs, space.sample().entry.results};
  std::vector<double> scales;
  for (const auto& text : question.show) {
    const auto e = Expression::parse(text, scope);
    const std::string unit = e.unit().empty() ? canonical_unit(e.exponents()) : std::string(e.unit());
    names.push_back(unit.empty() ? text : fmt::format("{} [{}]", text, unit));
    scales.push_back(unit.empty() ? 1.0 : AnyQuantity::parse("1 " + unit).base());
  }
  if (!lines) {
    for (std::size_t k = 0; k < names.size(); ++k) fmt::format_to(std::back_inserter(out), "{}{}", k == 0 ? "" : ",", quoted(names[k]));
    out.push_back('\n');
  }
  visit_points(space, question, 0, space.size(), [&](const RowBlock& b) {
    for (std::size_t p = 0; p < b.points; ++p) {
      const auto at = space.rows_at(b.first + p);
      auto to = std::back_inserter(out);
      std::size_t column = 0;
      const auto cell = [&](std::string_view text) {
        if (lines) fmt::format_to(to, "{}\"{}\":{}", column == 0 ? "{" : ",", names[column], text);
        else fmt::format_to(to, "{}{}", column == 0 ? "" : ",", text);
        ++column;
      };
      cell(fmt::format("{}", b.first + p));
      for (std::size_t a = 0; a < at.size(); ++a) cell(quoted(space.axes()[a].label(at[a])));
      cell(lines ? (b.feasible[p] != 0 ? "true" : "false") : (b.feasible[p] != 0 ? "1" : "0"));
      for (std::size_t k = 0; k < question.show.size(); ++k) {
        const bool number = b.skipped.empty() && std::isfinite(b.shown[k][p]);
        cell(number ? fmt::format("{}", b.shown[k][p] / scales[k]) : lines ? "null" : "");
      }
      fmt::format_to(to, "{}\n", lines ? "}" : "");
    }
    if (out.size() > (1 << 16)) flush();
    if (interrupted) throw InputError({.id = "mlsysim.cli.072", .message = "interrupted", .found = fmt::format("{} of {} rows", b.first, space.size())});
  });
  flush();
  if (std::fclose(f) != 0) file_fault(path, "the rows cannot be written to their end", "make room on the disk");
}

/// Every row in the answer, for small sweeps without an objective.
Answer row_table(const Space& space, const Question& question, const RenderOptions& options) {
  if (space.size() > kMostRows)
    throw InputError({.id = "mlsysim.cli.073", .message = "a sweep without an objective lists every point", .found = fmt::format("{} points", space.size()),
                      .expected = fmt::format("at most {}", kMostRows), .hint = "add --minimize or --maximize, or write them with --rows FILE"});
  Table t{.schema = "mlsysim/sweep@2", .title = space.problem().title(), .columns = {{"index"}}};
  for (const auto& a : space.axes()) t.columns.push_back({a.title()});
  t.columns.push_back({"feasible"});
  const ExpressionScope scope{space.sample().entry.inputs, space.sample().entry.results};
  std::vector<Exponents> exps;
  for (const auto& text : question.show) {
    const auto e = Expression::parse(text, scope);
    t.columns.push_back({text, e.unit().empty() ? canonical_unit(e.exponents()) : std::string(e.unit())});
    exps.push_back(e.exponents());
  }
  t.columns.push_back({"note"});
  visit_points(space, question, 0, space.size(), [&](const RowBlock& b) {
    for (std::size_t p = 0; p < b.points; ++p) {
      std::vector<Table::Cell> row{static_cast<double>(b.first + p)};
      const auto at = space.rows_at(b.first + p);
      for (std::size_t a = 0; a < at.size(); ++a) row.emplace_back(space.axes()[a].label(at[a]));
      row.emplace_back(Value(b.feasible[p] != 0));
      for (std::size_t k = 0; k < exps.size(); ++k) row.push_back(b.skipped.empty() ? Table::Cell(Value(b.shown[k][p]), exps[k]) : Table::Cell());
      row.emplace_back(b.skipped.empty() ? std::string() : fmt::format("skipped: {}", b.skipped));
      t.rows.push_back(std::move(row));
    }
  });
  return {render(t, options)};
}

std::pair<std::uint64_t, std::uint64_t> shard_of(const std::string& text) {
  unsigned long long k = 0, n = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%llu/%llu%c", &k, &n, &rest) != 2 || k < 1 || k > n)
    throw InputError({.id = "mlsysim.cli.074", .message = "the shard cannot be read", .key = "--shard", .found = fmt::format("'{}'", text), .expected = "k/n, e.g. 3/16"});
  return {k, n};
}

Answer answer_of(const ExploreAnswer& a, const RenderOptions& options) {
  Answer out{render(a, options)};
  const bool empty = !a.objectives.empty() && a.best.empty() && a.front.empty();
  if (!a.complete) {
    out.exit = Exit::interrupted;
    out.diagnostics = "mlsysim: interrupted: the answer covers part of the space\n";
  } else if (empty) {
    const auto why = a.why_infeasible();
    if (options.format == OutputFormat::text) out.payload = why.text() + "\n" + out.payload;
    out.exit = Exit::infeasible;
    out.diagnostics = fmt::format("mlsysim: infeasible: {}\n", why.reason);
  }
  return out;
}

void show_progress(const Progress& p) {
  std::fprintf(stderr, "\r%5.1f %%  %.3g points/s  %.0f s left ", 100 * p.done / std::max(p.total, 1.0), p.rate, p.seconds_left);
  if (p.done >= p.total) std::fprintf(stderr, "\r%*s\r", 60, "");
}

}  // namespace

Answer search(const ScenarioRequest& request, const SearchRequest& asked, const RenderOptions& options) {
  const auto s = search_of(request, asked);
  const InterruptScope listening;
  if (!asked.rows.empty()) {
    write_rows(*s.space, s.question, asked.rows, asked.overwrite);
    return {fmt::format("{} rows in {}\n", s.space->size(), asked.rows)};
  }
  if (asked.command == "sweep" && s.question.objectives.empty() && s.question.histogram == std::nullopt && asked.shard.empty())
    return row_table(*s.space, s.question, options);
  ExploreOptions how;
  how.strategy = *choice_of<Strategy>(asked.strategy);
  how.threads = asked.threads;
  how.evaluations = asked.evaluations;
  how.seed = asked.seed;
  how.cancel = &interrupted;
  if (::isatty(STDERR_FILENO) != 0) how.progress = show_progress;
  if (!asked.shard.empty()) std::tie(how.shard, how.shards) = shard_of(asked.shard);
  const Json head = request_json(request, asked);
  const auto wrapped = [&](const std::string& state) { return Json{{"schema", kShard}, {"request", head}, {"state", state}}.dump() + "\n"; };
  std::error_code none;
  if (!asked.state.empty()) {
    how.strategy = Strategy::exhaustive;
    if (asked.resume && std::filesystem::exists(asked.state, none)) how.resume = Json::parse(read_file(asked.state)).value("state", "");
    else if (!asked.resume && !asked.overwrite && std::filesystem::exists(asked.state, none))
      throw InputError({.id = "mlsysim.cli.071", .message = "the file exists", .key = "--state", .found = fmt::format("'{}'", asked.state),
                        .expected = "a new file", .hint = "add --resume to go on, or --overwrite"});
    how.checkpoint = [&](const std::string& state) { write_file(asked.state, wrapped(state)); };
  }
  const auto question = asked.command == "pareto" ? pareto : asked.command == "optimize" ? optimize : explore;
  const auto answer = question(*s.space, s.question, how);
  return answer_of(answer, options);
}

Answer sweep(const SweepRequest& request, ScenarioRequest scenario, SearchRequest asked, const RenderOptions& options) {
  scenario.targets = {request.model, request.hardware.at(0)};
  for (const auto& [name, text] : request.fields) scenario.fields.insert_or_assign(name, text);
  std::vector<std::string> axes;
  if (request.hardware.size() > 1) axes.push_back(fmt::format("hardware={}", fmt::join(request.hardware, ",")));
  if (!request.batch_sizes.empty()) axes.push_back(fmt::format("batch_size={}", fmt::join(request.batch_sizes, ",")));
  if (!request.precisions.empty()) axes.push_back(fmt::format("precision={}", fmt::join(request.precisions, ",")));
  asked.axes.insert(asked.axes.begin(), axes.begin(), axes.end());
  return search(scenario, asked, options);
}

Answer merge_states(const std::vector<std::string>& paths, const RenderOptions& options) {
  std::vector<std::string> states;
  ScenarioRequest request;
  SearchRequest asked;
  Json head;
  for (const auto& path : paths) {
    Json j;
    try {
      j = Json::parse(read_file(path));
      if (j.value("schema", "") != kShard) throw std::runtime_error("another schema");
    } catch (const std::runtime_error&) {
      throw InputError({.id = "mlsysim.cli.077", .message = "a file is no shard", .key = path, .found = fmt::format("'{}'", path), .expected = std::string(kShard),
                        .hint = "it is written by sweep, optimize or pareto with --state"});
    }
    if (head.is_null()) head = j.at("request");
    else if (head != j.at("request"))
      throw InputError({.id = "mlsysim.cli.078", .message = "the shards answer different questions", .key = path, .found = j.at("request").dump(), .expected = head.dump()});
    states.push_back(j.at("state"));
  }
  request_from(head, request, asked);
  const auto s = search_of(request, asked);
  return answer_of(merge(*s.space, s.question, states), options);
}

}  // namespace mlsysim::cli
