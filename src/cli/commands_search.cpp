#include "observed.hpp"
#include "questions.hpp"
#include "ranks.hpp"
#include "search_bounds.hpp"
#include "search_files.hpp"
#include "usual_space.hpp"

#include <mlsysim/explore/ask/optimize.hpp>
#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/report/explore_report.hpp>
#include <mlsysim/report/interval_report.hpp>
#include <mlsysim/resolver_api/detail/name_list.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/specs/device_name.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <unistd.h>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

namespace mlsysim::cli {
namespace {

using Json = nlohmann::ordered_json;
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

/// A value of an axis: of an input by its table, of anything else as a quantity.
/// @param resolver that is asked; null: a scenario is
DynamicValue axis_value(FieldReader& reader, const Resolver* resolver, std::string_view name,
                        std::string_view text) {
  if (resolver == nullptr && name == "hardware") {
    if (const auto* fleet = zoo().find<Fleet>(text); fleet != nullptr) return fleet;
    if (const auto* rack = zoo().find<HardwareNode>(text); rack != nullptr && rack->part != nullptr)
      throw InputError(
          {.id = "mlsysim.cli.374",
           .message = fmt::format("'{}' is a rack of many devices, and an axis has devices", text),
           .key = "hardware",
           .found = fmt::format("'{}'", text),
           .expected = "devices",
           .hint =
               fmt::format("name {} with --accelerators, or ask eval, decide or compare", rack->part->name)});
  }
  const auto inputs = resolver != nullptr ? resolver->inputs() : describe<Scenario>();
  if (const auto* field = find_field(inputs, name); field != nullptr) return reader.read(*field, text);
  return AnyQuantity::parse(text);
}

/// The words of a resolver, with the first value of an axis for an input that needs one and has none.
std::vector<std::string> with_axes(std::vector<std::string> words, const Resolver& resolver,
                                   const std::vector<SpaceAxis>& axes) {
  const auto given = [&](const std::string& name) {
    return std::any_of(words.begin() + 1, words.end(),
                       [&](const std::string& word) { return word.starts_with(name + "="); });
  };
  for (const auto& axis : axes)
    for (std::size_t k = 0; k < axis.names.size(); ++k) {
      const FieldInfo* field = find_field(resolver.inputs(), axis.names[k]);
      if (field == nullptr || !field->required || given(field->name)) continue;
      words.push_back(fmt::format("{}={}", field->name, axis.text(0, k)));
    }
  return words;
}

/// "8xH100,8xH200" is the machines H100 and H200, each with eight devices.
std::vector<std::string> without_counts(const std::vector<std::string>& machines, ScenarioRequest& request) {
  std::vector<std::string> out;
  std::optional<double> count;
  for (const auto& machine : machines) {
    const auto many = counted_machine(zoo(), machine);
    const double own = many ? many->count : 1;
    if (count.value_or(own) != own)
      throw InputError({.id = "mlsysim.cli.254",
                        .message = "machines of one search have as many devices each",
                        .key = "hardware",
                        .found = fmt::format("'{}'", fmt::join(machines, ",")),
                        .expected = "the same count before each",
                        .hint = "mlsysim decide chooses among machines and counts"});
    count = own;
    out.push_back(many ? std::string(many->name) : machine);
  }
  if (count.value_or(1) != 1) request.fields.try_emplace("accelerators", fmt::format("{}", *count));
  return out;
}

}  // namespace

AskedSpace space_asked(const ScenarioRequest& request, const SearchRequest& given) {
  AskedSpace s;
  SearchRequest asked = given;
  s.reader = std::make_unique<FieldReader>(zoo());
  const Resolver* resolver =
      request.targets.empty() ? nullptr : ResolverRegistry::standard().find(request.targets[0]);
  const bool of_resolver = resolver != nullptr;
  ScenarioRequest one = request;
  // Several machines are an axis, the outermost.
  const bool machines = !of_resolver && one.targets.size() == 2 && !names_a_file(one.targets[1]) &&
                        one.targets[1].find(',') != std::string::npos;
  std::vector<std::string> several;
  if (machines) {
    for (const auto name : names_in(one.targets[1])) several.emplace_back(name);
    several = without_counts(several, one);
    one.targets[1] = several.front();
  }
  for (const auto& text : asked.axes)  // "prefill_replicas=1..4" starts from 1
    if (const auto equals = text.find('='); equals != std::string::npos) {
      const auto values = std::string_view(text).substr(equals + 1);
      give_varied(one, std::string_view(text).substr(0, equals),
                  values.substr(0, values.find_first_of(",.")));
    }
  if (!of_resolver) {
    s.built = scenario_of(one);
    s.said = fill_in_search(s.built.scenario, request, asked);
  }
  std::vector<SpaceAxis> axes;
  const auto read = [&](std::string_view name, std::string_view value) {
    return axis_value(*s.reader, resolver, name, value);
  };
  for (const auto& text : asked.axes) {
    if (!text.starts_with("@")) {
      axes.push_back(parse_axis(text, read));
      continue;
    }
    for (auto& axis : read_axes(text.substr(1), read)) axes.push_back(std::move(axis));
  }
  if (of_resolver) {
    const auto words = with_axes(request.targets, *resolver, axes);
    s.space = std::make_unique<Space>(resolver_problem(words), std::move(axes));
    s.about = subject_asked({.targets = words}).about;
  } else {
    if (machines)
      axes.insert(axes.begin(), parse_axis(fmt::format("hardware={}", fmt::join(several, ",")), read));
    s.space = std::make_unique<Space>(problem_of(s.built.scenario, s.built.keep), std::move(axes));
    s.about = interval_subject(s.built.scenario);
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

namespace {

Json request_json(const ScenarioRequest& r, const SearchRequest& s) {
  return {
      {"targets", r.targets},   {"fields", r.fields},       {"region", r.region},           {"axes", s.axes},
      {"minimize", s.minimize}, {"maximize", s.maximize},   {"constraints", s.constraints}, {"show", s.show},
      {"top", s.top},           {"histogram", s.histogram}, {"anything", s.anything}};
}

/// @throws Json::exception for what request_json did not write
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

/// Columns with the ends of the intervals of what is shown; empty where none are asked for.
class IntervalColumns {
 public:
  IntervalColumns(const AskedSpace& s, int level, Table& t) {
    if (level == 0) return;
    ends_.emplace(*s.space, s.about, s.question.show, level);
    for (const auto& name : ends_->results()) {
      const auto& sample = s.space->sample();
      const FieldInfo& f = sample.entry.results[sample.result(name)];
      exps_.push_back(f.exps);
      for (const auto* end : {"lower", "upper"})
        t.columns.push_back({fmt::format("{}_{}", name, end),
                             f.unit.empty() ? canonical_unit(f.exps) : std::string(f.unit),
                             fmt::format("of the {} % interval", level)});
    }
  }
  void add(std::uint64_t point, bool skipped, std::vector<Table::Cell>& row) {
    if (!ends_) return;
    const auto found =
        skipped ? std::vector<SpaceIntervals::Ends>(exps_.size(), {NAN, NAN}) : ends_->at(point);
    for (std::size_t k = 0; k < found.size(); ++k)
      for (const double x : {found[k].lower, found[k].upper})
        row.push_back(std::isfinite(x) ? Table::Cell(Value(x), exps_[k]) : Table::Cell());
  }

 private:
  std::optional<SpaceIntervals> ends_;
  std::vector<Exponents> exps_;
};

/// Refuses --interval for histograms, shards, states and files of rows.
void check_interval(const SearchRequest& asked, const Question& question) {
  if (asked.interval == 0) return;
  const bool points = asked.command != "sweep" || !question.objectives.empty() || !question.histogram;
  if (points && asked.rows.empty() && asked.shard.empty() && asked.state.empty()) return;
  throw InputError({.id = "mlsysim.cli.169",
                    .message = "histograms, shards, states and files of rows have no intervals",
                    .key = "--interval",
                    .found = fmt::format("--interval {}", asked.interval),
                    .expected = "a sweep that lists its points, or a search in one process",
                    .hint = "leave out --interval, or what divides the search; mlsysim explain takes "
                            "--interval about one point"});
}

/// A search with the intervals of what it lists: of the best point by name, of several by "POINT.RESULT".
std::string with_intervals_of(const ExploreAnswer& a, const AskedSpace& s, int level, std::string text,
                              const RenderOptions& options) {
  std::vector<std::string> names;
  for (const auto& o : a.objectives) names.push_back(o.text);
  names.insert(names.end(), a.show.begin(), a.show.end());
  SpaceIntervals at(*s.space, s.about, names, level);
  const auto& points = a.best.empty() ? a.front : a.best;
  std::vector<NumberInterval> found;
  for (const auto& point : points) {
    if (point.between) continue;  // no point of the grid
    for (auto& n : at.numbers_at(point.index)) {
      if (points.size() > 1) n.result = fmt::format("{}.{}", point.index, n.result);
      found.push_back(std::move(n));
    }
  }
  return with_intervals(std::move(text), found, options);
}

/// Every row in the answer, for small sweeps without an objective.
Answer row_table(const AskedSpace& s, int level, const RenderOptions& options) {
  const Space& space = *s.space;
  const Question& question = s.question;
  if (space.size() > kMostRows)
    throw InputError({.id = "mlsysim.cli.076",
                      .message = "a sweep without an objective lists every point",
                      .found = fmt::format("{} points", space.size()),
                      .expected = fmt::format("at most {}", kMostRows),
                      .hint = "add --minimize or --maximize, or write them with --rows FILE"});
  Table t{.schema = "mlsysim/sweep@2", .title = space.title(), .columns = {{"index"}}};
  for (const auto& a : space.axes()) t.columns.push_back({a.title()});
  t.columns.push_back({"feasible"});
  const ExpressionScope scope{space.sample().entry.inputs, space.sample().entry.results};
  std::vector<Exponents> exps;
  for (const auto& text : question.show) {
    const auto e = Expression::parse(text, scope);
    t.columns.push_back({text, e.unit().empty() ? canonical_unit(e.exponents()) : std::string(e.unit())});
    exps.push_back(e.exponents());
  }
  IntervalColumns intervals(s, level, t);
  t.columns.push_back({"note"});
  // For readers below the rows, for programs in each.
  const bool for_programs = options.format == OutputFormat::json || options.format == OutputFormat::csv;
  std::vector<std::pair<std::uint64_t, std::vector<std::string>>> warned;
  std::size_t answered = 0;
  struct Stop {};
  const auto take = [&](const RowBlock& b) {
    if (interrupted) throw Stop{};
    for (std::size_t p = 0; p < b.points; ++p) {
      std::vector<Table::Cell> row{static_cast<double>(b.first + p)};
      const auto at = space.rows_at(b.first + p);
      for (std::size_t a = 0; a < at.size(); ++a) row.emplace_back(space.axes()[a].label(at[a]));
      row.emplace_back(Value(b.feasible[p] != 0));
      std::vector<std::string_view> none;  // what has no value here: a wait that never ends, say
      for (std::size_t k = 0; k < exps.size(); ++k) {
        const bool number = b.skipped.empty() && std::isfinite(b.shown[k][p]);
        row.push_back(number ? Table::Cell(Value(b.shown[k][p]), exps[k]) : Table::Cell());
        if (!number) none.push_back(question.show[k]);
      }
      intervals.add(b.first + p, !b.skipped.empty(), row);
      std::vector<std::string> notes;
      if (!b.skipped.empty()) notes.push_back(fmt::format("skipped: {}", b.skipped));
      if (b.skipped.empty() && !none.empty())
        notes.push_back(fmt::format("no finite {}", fmt::join(none, ", ")));
      if (b.skipped.empty() && ++answered <= kMostWarned) {
        warned.emplace_back(b.first + p, space.warnings_at(b.first + p));
        if (for_programs) std::ranges::copy(warned.back().second, std::back_inserter(notes));
      }
      row.emplace_back(fmt::format("{}", fmt::join(notes, "; ")));
      t.rows.push_back(std::move(row));
    }
  };
  const auto titled = [&] {
    const bool text = options.format == OutputFormat::text;
    return (text ? space.title() + "\n\n" : std::string()) + render(t, options);
  };
  try {
    visit_points(space, question, 0, space.size(), take);
  } catch (const Stop&) {
    return {titled(), "mlsysim: interrupted: the rows cover part of the space\n", Exit::interrupted};
  }
  for (const auto& w : shared_warnings(warned, answered))
    t.footer += fmt::format("{}warning: {}", t.footer.empty() ? "" : "\n", w);
  return {titled()};
}

/// Reads the state that explore() and merge() take from a state file, and refuses a file without one.
std::string state_in(const Json& j, const std::string& path) {
  if (!j.contains("state") || !j["state"].is_string())
    refuse_state_file(path, kShardSchema, "no state in it");
  return j["state"];
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
  std::fprintf(stderr, "\r%5.1f %%  %.3g points/s  %.0f s left ", 100 * p.done / std::max(p.total, 1.0),
               p.rate, p.seconds_left);
  if (p.done >= p.total) std::fprintf(stderr, "\r%*s\r", 60, "");
}

constexpr std::string_view kRanks = "mpi";  // the shard of --mpi: that of the rank

/// Refuses a search that MPI ranks cannot share, before they begin.
void check_ranks(const SearchRequest& asked, const AskedSpace& s, int size) {
  constexpr Fault kUnshared{.id = "mlsysim.cli.164", .message = "ranks cannot share this search"};
  if (!asked.rows.empty()) return;  // rank 0 writes, and has the state
  if (s.question.objectives.empty() && !s.question.histogram)
    throw InputError(
        kUnshared.with({.key = "--mpi",
                        .found = "a sweep that lists every point",
                        .expected = "objectives, --histogram or --rows FILE",
                        .hint = "add --minimize or --maximize, or write the points with --rows"}));
  if (size > 1 && !asked.state.empty() && asked.state.find("{shard}") == std::string::npos)
    throw InputError(kUnshared.with({.key = "--state",
                                     .found = fmt::format("one file for {} ranks", size),
                                     .expected = "a name with {shard}",
                                     .hint = "e.g. --state 'part-{shard}.json'"}));
  if (asked.strategy == "gradient" || asked.strategy == "evolutionary")
    throw InputError(kUnshared.with({.key = "--strategy",
                                     .found = asked.strategy,
                                     .expected = "exhaustive or branch-and-bound",
                                     .hint = "leave --strategy out"}));
  if (asked.strategy == "branch-and-bound" && !asked.state.empty())
    throw InputError(kUnshared.with({.key = "--state",
                                     .found = "--state of a search by bounds",
                                     .expected = "an exhaustive search",
                                     .hint = "leave --state or --strategy out"}));
}

/// The answer of workers that shared the best value. What they looked at hangs on when they heard of each
/// other, so that it is said beside the answer.
Answer shared_answer(const AskedSpace& s, const BoundedPart& best, std::string_view who,
                     const RenderOptions& options) {
  auto out = answer_of(bounded_answer(*s.space, s.question, best), options);
  out.diagnostics +=
      fmt::format("mlsysim: {} bounded {} boxes and evaluated {} points\n", who, best.boxes, best.evaluated);
  return out;
}

/// The state of every rank joined two by two; the answer is that of rank 0.
Answer joined_on_ranks(const AskedSpace& s, const ExploreAnswer& own, const RenderOptions& options) {
  const auto& r = ranks();
  if (!own.complete) refuse_interrupted_rank(fmt::format("{} of {} points", own.covered, own.total));
  const auto whole = joined_over_ranks(r, own.state, [&](const std::string& a, const std::string& b) {
    const std::vector<std::string> both{a, b};
    return join_states(*s.space, s.question, both);
  });
  if (r.rank != 0) return {};
  const std::vector<std::string> one{whole};
  return answer_of(merge(*s.space, s.question, one), options);
}

/// The search of one process, or of one rank.
Answer search_here(const ScenarioRequest& request, const SearchRequest& as_given,
                   const RenderOptions& options, Observed& observed) {
  SearchRequest asked = as_given;
  const bool mpi = asked.shard == kRanks;
  if (mpi) {
    check_ranks(asked, space_asked(request, asked), ranks().size);
    // Rows are one file, which rank 0 writes.
    asked.shard = asked.rows.empty() ? fmt::format("{}/{}", ranks().rank + 1, ranks().size) : std::string();
  }
  const Shard shard = shard_of(asked.shard);
  // Tasks that share a command line have files of their own.
  for (auto* file : {&asked.state, &asked.rows})
    if (const auto at = file->find("{shard}"); at != std::string::npos)
      file->replace(at, 7, fmt::format("{}", shard.k));
  auto s = space_asked(request, asked);
  if (asked.command == "sweep" && s.question.objectives.empty() && s.question.show.empty())
    s.question.show = usual_results(s.space->sample().entry.results);
  check_interval(asked, s.question);
  const InterruptScope listening;
  const Json head = request_json(request, asked);
  if (!asked.rows.empty())
    return write_rows(*s.space, s.question, head, asked, mpi ? &ranks() : nullptr, interrupted, options);
  const bool shares = !mpi && !asked.shard.empty() && asked.strategy == "branch-and-bound";
  const bool resumes = !shares && goes_on_from_state(asked);
  std::optional<files::Lock> lock;
  if (!asked.state.empty() && !shares) lock.emplace(asked.state);
  if (asked.command == "sweep" && s.question.objectives.empty() && s.question.histogram == std::nullopt &&
      asked.shard.empty() && asked.state.empty()) {
    auto rows = row_table(s, asked.interval, options);
    observed.swept(s.space->title(), static_cast<double>(s.space->size()));
    return rows;
  }
  ExploreOptions how;
  how.strategy = *choice_of<Strategy>(asked.strategy);
  how.threads = asked.threads;
  how.evaluations = asked.evaluations;
  how.seed = asked.seed;
  how.cancel = &interrupted;
  how.progress = observed.progress(s.space->title(), ::isatty(STDERR_FILENO) != 0
                                                         ? std::function<void(const Progress&)>(show_progress)
                                                         : nullptr);
  if (shares) return bounded_with_states(s, how, asked, as_given.state, head, options);
  if (mpi && how.strategy == Strategy::branch_and_bound) {
    const auto all = bounded_on_ranks(s, how);
    return all ? shared_answer(s, *all, fmt::format("{} ranks", ranks().size), options) : Answer{};
  }
  how.shard = shard.k;
  how.shards = shard.n;
  if (resumes) how.resume = state_in(read_state_file(asked.state, kShardSchema), asked.state);
  if (!asked.state.empty())
    how.checkpoint = [&](const std::string& state) {
      replace_state_file(asked.state, {{"schema", kShardSchema}, {"request", head}, {"state", state}});
    };
  const auto question = asked.command == "pareto" ? pareto : asked.command == "optimize" ? optimize : explore;
  const auto answer = question(*s.space, s.question, how);
  observed.swept(s.space->title(), static_cast<double>(s.space->size()));
  if (mpi) return joined_on_ranks(s, answer, options);
  auto out = answer_of(answer, options);
  if (!s.said.empty()) out.diagnostics.insert(0, fmt::format("mlsysim: {}\n", s.said));
  if (asked.interval > 0)
    out.payload = with_intervals_of(answer, s, asked.interval, std::move(out.payload), options);
  return out;
}

}  // namespace

Answer search(const ScenarioRequest& request, const SearchRequest& asked, const RenderOptions& options) {
  Observed observed;
  const auto here = [&] {
    return observed.around([&] { return search_here(request, asked, options, observed); });
  };
  return asked.shard == kRanks ? on_ranks(here) : here();
}

Answer sweep(const SweepRequest& request, ScenarioRequest scenario, SearchRequest asked,
             const RenderOptions& options) {
  const auto hardware =
      request.hardware.size() > 1 ? without_counts(request.hardware, scenario) : request.hardware;
  scenario.targets = {request.model, hardware.at(0)};
  std::vector<std::string> axes;
  // Without --axis, one device and one batch are axes of one value. A node or a pod cannot be on an axis.
  const bool alone = asked.axes.empty();
  if (hardware.size() > 1 || (alone && zoo().find<HardwareNode>(hardware[0]) != nullptr))
    axes.push_back(fmt::format("hardware={}", fmt::join(hardware, ",")));
  if (!request.batch_sizes.empty())
    axes.push_back(fmt::format("batch_size={}", fmt::join(request.batch_sizes, ",")));
  else if (alone && request.rates.empty())
    axes.emplace_back("batch_size=1");
  // One rate or count is a setting, several are an axis.
  for (const auto& [name, values] :
       {std::pair{"arrival_rate", &request.rates}, std::pair{"accelerators", &request.devices}})
    if (values->size() > 1)
      axes.push_back(fmt::format("{}={}", name, fmt::join(*values, ",")));
    else if (!values->empty())
      scenario.fields[name] = values->front();
  if (!request.precisions.empty())
    axes.push_back(fmt::format("precision={}", fmt::join(request.precisions, ",")));
  asked.axes.insert(asked.axes.begin(), axes.begin(), axes.end());
  return search(scenario, asked, options);
}

Answer merge_states(const std::vector<std::string>& paths, const RenderOptions& options) {
  std::vector<std::string> states;
  ScenarioRequest request;
  SearchRequest asked;
  Json head;
  const bool bounded = is_bounded_state(paths.front());
  const auto schema = bounded ? kBoundedSchema : kShardSchema;
  for (const auto& path : paths) {
    const Json j = read_state_file(path, schema);
    if (head.is_null())
      head = j.at("request");
    else if (head != j.at("request"))
      throw InputError({.id = "mlsysim.cli.078",
                        .message = "the shards answer different questions",
                        .key = path,
                        .found = detail::json_text(j.at("request")),
                        .expected = detail::json_text(head)});
    if (!bounded) states.push_back(state_in(j, path));
  }
  try {
    request_from(head, request, asked);
  } catch (const Json::exception& e) {
    refuse_state_file(paths.front(), schema, e.what());
  }
  const auto s = space_asked(request, asked);
  if (bounded)
    return shared_answer(s, merged_bounds(s, paths), fmt::format("{} workers", paths.size()), options);
  return answer_of(merge(*s.space, s.question, states), options);
}

}  // namespace mlsysim::cli
