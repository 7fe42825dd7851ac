#include "divided_search.hpp"
#include "output.hpp"
#include "usual_space.hpp"

#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/explore/ask/optimize.hpp>
#include <mlsysim/report/explore_report.hpp>
#include <mlsysim/report/interval_report.hpp>
#include <mlsysim/resolver_api/detail/name_list.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/specs/device_name.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

namespace mlsysim::cli {
namespace {

constexpr std::uint64_t kMostRows = 10000;  // rows that are printed rather than written to a file

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
  if (asked.command == "sweep" && s.question.objectives.empty() && s.question.show.empty())
    s.question.show = usual_results(s.space->sample().entry.results);
  s.question.top = asked.top;
  if (!asked.histogram.empty()) s.question.histogram = asked.histogram;
  s.question.implicit_constraints = !asked.anything;
  return s;
}

namespace {

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
  Question question = s.question;
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
  constexpr const char* kShort = "memory_shortfall";  // behind what is shown, for the notes
  const bool fits_or_not = find_field(space.sample().entry.results, kShort) != nullptr;
  const auto asked = question.show;
  if (fits_or_not) question.show.emplace_back(kShort);
  struct Stop {};
  const auto take = [&](const RowBlock& b) {
    if (InterruptScope::token().requested()) throw Stop{};
    for (std::size_t p = 0; p < b.points; ++p) {
      std::vector<Table::Cell> row{static_cast<double>(b.first + p)};
      const auto at = space.rows_at(b.first + p);
      for (std::size_t a = 0; a < at.size(); ++a) row.emplace_back(space.axes()[a].label(at[a]));
      row.emplace_back(Value(b.feasible[p] != 0));
      std::vector<std::string_view> none;  // what has no value here: a wait that never ends, say
      for (std::size_t k = 0; k < exps.size(); ++k) {
        const bool number = b.skipped.empty() && std::isfinite(b.shown[k][p]);
        row.push_back(number ? Table::Cell(Value(b.shown[k][p]), exps[k]) : Table::Cell());
        if (!number) none.push_back(asked[k]);
      }
      intervals.add(b.first + p, !b.skipped.empty(), row);
      std::vector<std::string> notes;
      if (!b.skipped.empty()) notes.push_back(fmt::format("skipped: {}", b.skipped));
      if (const double lack = fits_or_not && b.skipped.empty() ? b.shown[exps.size()][p] : 0; lack > 0)
        notes.push_back(fmt::format("{} short of memory", pretty(AnyQuantity(Data<>::from_base(lack)))));
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

void show_progress(const Progress& p) {
  std::fprintf(stderr, "\r%5.1f %%  %.3g points/s  %.0f s left ", 100 * p.done / std::max(p.total, 1.0),
               p.rate, p.seconds_left);
  if (p.done >= p.total) std::fprintf(stderr, "\r%*s\r", 60, "");
}

}  // namespace

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

ExploreOptions explore_options(const SearchRequest& asked, const AskedSpace& s, Observed& observed) {
  ExploreOptions how;
  how.strategy = *choice_of<Strategy>(asked.strategy);
  how.threads = asked.threads;
  how.evaluations = asked.evaluations;
  how.seed = asked.seed;
  how.cancel = &InterruptScope::token().flag();
  how.progress = observed.progress(s.space->title(), ::isatty(STDERR_FILENO) != 0
                                                         ? std::function<void(const Progress&)>(show_progress)
                                                         : nullptr);
  return how;
}

ExploreAnswer explored(const AskedSpace& s, const SearchRequest& asked, const ExploreOptions& how,
                       Observed& observed) {
  const auto question = asked.command == "pareto" ? pareto : asked.command == "optimize" ? optimize : explore;
  auto answer = question(*s.space, s.question, how);
  observed.swept(s.space->title(), static_cast<double>(s.space->size()));
  return answer;
}

Answer search(const ScenarioRequest& request, const SearchRequest& asked, const RenderOptions& options) {
  const bool divided = !asked.shard.empty() || !asked.state.empty() || asked.resume || !asked.rows.empty();
  const bool lists = asked.command == "sweep" && asked.minimize.empty() && asked.maximize.empty();
  if (asked.interval > 0 && (divided || (lists && !asked.histogram.empty())))
    throw InputError({.id = "mlsysim.cli.169",
                      .message = "histograms, shards, states and files of rows have no intervals",
                      .key = "--interval",
                      .found = fmt::format("--interval {}", asked.interval),
                      .expected = "a sweep that lists its points, or a search in one process",
                      .hint = "leave out --interval, or what divides the search; mlsysim explain takes "
                              "--interval about one point"});
  const InterruptScope listening;
  if (divided) return divided_search(request, asked, options);
  Observed observed;
  return observed.around([&] {
    const auto s = space_asked(request, asked);
    if (lists && asked.histogram.empty()) {
      auto rows = row_table(s, asked.interval, options);
      observed.swept(s.space->title(), static_cast<double>(s.space->size()));
      return rows;
    }
    const auto answer = explored(s, asked, explore_options(asked, s, observed), observed);
    auto out = answer_of(answer, options);
    if (out.exit == Exit::infeasible)
      if (const auto words = what_fits(request, *s.space); !words.empty())
        out.diagnostics += fmt::format("mlsysim: {}\n", words);
    if (!s.said.empty()) out.diagnostics.insert(0, fmt::format("mlsysim: {}\n", s.said));
    if (asked.interval > 0)
      out.payload = with_intervals_of(answer, s, asked.interval, std::move(out.payload), options);
    return out;
  });
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

}  // namespace mlsysim::cli
