/// Questions about a scenario or a resolver. Answers come as the JSON of the command line; mlsysim/explore.py
/// puts the units on.

#include "asked_scenario.hpp"
#include "export_law.hpp"
#include "keywords.hpp"
#include "plugin_host.hpp"
#include "space_rows.hpp"
#include "values.hpp"

#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/explore/ask/compare.hpp>
#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/explore/ask/optimize.hpp>
#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/explore/ask/solve.hpp>
#include <mlsysim/explore/ask/uncertainty.hpp>
#include <mlsysim/explore/search/parts.hpp>
#include <mlsysim/explore/subject/explanation.hpp>
#include <mlsysim/pipeline/sweep_callbacks.hpp>
#include <mlsysim/plot/explanation_forms.hpp>
#include <mlsysim/plugin/host.hpp>
#include <mlsysim/report/explanation_report.hpp>
#include <mlsysim/report/explore_report.hpp>
#include <mlsysim/report/interval_report.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>

#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mlsysim::python {

namespace {

constexpr RenderOptions kJson{.format = OutputFormat::json};
constexpr RenderOptions kText{};

/// The law behind a heeding one.
const LawEntry& heeded(const void* self) {
  heed_signals();
  return *static_cast<const LawEntry*>(self);
}

/// A copy of the law that Ctrl-C ends between two evaluations. Every question about a subject evaluates it.
LawEntry heeding_signals(const LawEntry& law) {
  LawEntry out = law;
  out.self = std::make_shared<const LawEntry>(law);
  out.evaluate = [](const void* self, const double* in, double* to) {
    const LawEntry& l = heeded(self);
    l.evaluate(l.self.get(), in, to);
  };
  if (law.attempt != nullptr)
    out.attempt = [](const void* self, const double* in, double* to) {
      const LawEntry& l = heeded(self);
      return l.attempt(l.self.get(), in, to);
    };
  if (law.recorded != nullptr) {
    out.recorded = [](const void* self) -> const Tape& { return heeded(self).tape(); };
    out.narrowed = [](const void* self, const TapeReduction& known) { return heeded(self).part(known); };
  }
  return out;
}

/// The subject of a question, with everything that it points to.
struct AskedSubject {
  Subject subject;
  IntervalSubject about;  ///< by what its errors are known
  std::shared_ptr<const Problem> problem;
  std::vector<FieldInfo> fields;               ///< of the scenario or resolver, for the values of axes
  std::shared_ptr<const Resolver> resolver{};  ///< null for a scenario
  std::shared_ptr<const Record> inputs{};      ///< of the resolver
  std::vector<py::object> keeps;
  std::function<Explanation(const std::string&, const std::vector<std::string>&)> explain;
  std::optional<Scenario> scenario{};

  /// With inputs that nobody gave, at what stands for them.
  Subject with(std::span<const std::string> names) const {
    const bool all = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return find_field(subject.entry.inputs, name) != nullptr;
    });
    if (all || !scenario) return subject;
    auto out = subject_with(*scenario, names);
    out.entry = heeding_signals(out.entry);
    return out;
  }
};

std::shared_ptr<AskedSubject> ask_scenario(const py::dict& values) {
  AskedScenario read(values);
  auto asked = std::make_shared<AskedSubject>();
  const Scenario& scenario = read.scenario;
  asked->keeps = std::move(read.keeps);
  asked->subject = subject_of(scenario);
  auto& subject = asked->subject;
  subject.assumptions.insert(subject.assumptions.end(), read.assumptions.begin(), read.assumptions.end());
  subject.warnings.insert(subject.warnings.begin(), read.warnings.begin(), read.warnings.end());
  asked->scenario = scenario;
  asked->about = interval_subject(scenario);
  asked->subject.entry = heeding_signals(asked->subject.entry);
  asked->problem = problem_of(scenario);
  asked->explain = [scenario](const std::string& result, const std::vector<std::string>& open) {
    return explanation(scenario, result, open);
  };
  const auto fields = describe<Scenario>();
  asked->fields.assign(fields.begin(), fields.end());
  return asked;
}

/// @param resolver also one that no registry knows
std::shared_ptr<AskedSubject> ask_this(std::shared_ptr<const Resolver> resolver, const py::dict& values) {
  auto asked = std::make_shared<AskedSubject>();
  const std::string name = resolver->info().name;
  const Keywords keywords(resolver->inputs(), name);
  const auto record = std::make_shared<Record>(*resolver, Side::inputs);
  Record& in = *record;
  FieldMask supplied;
  keywords.write_all(values, in.data(), supplied, asked->keeps);
  keywords.require(supplied);
  InputGuard(resolver->inputs()).check(in.data(), name);
  const auto fields = resolver->inputs();
  asked->fields.assign(fields.begin(), fields.end());
  asked->problem = problem_of(resolver, in.data());
  asked->explain = [resolver, record](const std::string& result, const std::vector<std::string>& open) {
    return explanation(resolver, record->data(), result, open);
  };
  asked->resolver = resolver;
  asked->inputs = record;
  asked->about = interval_subject(*resolver, in.data());
  asked->subject = subject_of(std::move(resolver), in.data());
  asked->subject.entry = heeding_signals(asked->subject.entry);
  return asked;
}

std::shared_ptr<Explanation> explained(const AskedSubject& a, const std::string& result,
                                       const std::vector<std::string>& open) {
  const py::gil_scoped_release unlocked;
  return std::make_shared<Explanation>(a.explain(result, open));
}

std::pair<std::string, std::string> intervals_asked(const AskedSubject& a,
                                                    const std::vector<std::string>& results, int level) {
  const py::gil_scoped_release unlocked;
  const auto found =
      intervals(a.subject, a.about, results.empty() ? measured_results(a.subject, a.about) : results, level,
                {.samples = 512, .pause = heed_signals});
  return {render(found, {.format = OutputFormat::json}), render(found, RenderOptions{})};
}

std::shared_ptr<AskedSubject> ask_resolver(const std::string& name, const py::dict& values) {
  return ask_this(ResolverRegistry::standard().share(name), values);
}

py::list fields_of(const std::vector<FieldInfo>& fields, const std::vector<double>& values) {
  py::list out;
  for (std::size_t i = 0; i < fields.size(); ++i)
    out.append(py::make_tuple(fields[i].name,
                              to_python(fields[i], DynamicValue(Value(values[i]), fields[i].exps)),
                              fields[i].unit, fields[i].meaning));
  return out;
}

/// (resolver, reason, smallest change, facts) where a resolver has no answer to its inputs, else None.
py::object infeasible_of(const AskedSubject& a) {
  if (a.resolver == nullptr || a.subject.entry.is_law()) return py::none();
  Record out(*a.resolver, Side::outputs);
  SolveContext context;
  Status status{};
  {
    const py::gil_scoped_release unlocked;
    status = a.resolver->solve(a.inputs->data(), out.data(), context);
  }
  if (status == Status::ok) return py::none();
  py::dict facts;
  for (const auto& f : context.why.facts) facts[py::str(f.name)] = f.value;
  return py::make_tuple(a.resolver->info().name, context.why.reason, context.why.smallest_change, facts);
}

std::pair<std::string, std::string> solve_asked(const AskedSubject& a, const std::string& condition,
                                                const std::string& free,
                                                const std::optional<std::string>& low,
                                                const std::optional<std::string>& high) {
  SolveDomain domain;
  if (low) domain.low = AnyQuantity::parse(*low);
  if (high) domain.high = AnyQuantity::parse(*high);
  const py::gil_scoped_release unlocked;
  const auto answer = solve(a.with(std::span(&free, 1)), condition, free, domain);
  if (!answer) return {render(*answer.why(), kJson), answer.why()->text()};
  return {render(*answer, kJson), render(*answer, kText)};
}

/// One value of an axis; a text is read as the field reads it, or as a quantity.
DynamicValue axis_value(const AskedSubject& a, const std::string& name, py::handle value) {
  const FieldInfo* field = find_field(a.fields, name);
  const bool fleet = name == "hardware" && object_in(value).type == ObjectType<Fleet>::name;
  // A number may come as text, out of an axis that is written as on the command line.
  const bool number =
      field == nullptr || field->kind == ValueKind::quantity || field->kind == ValueKind::number;
  if (number && py::isinstance<py::str>(value)) {
    const auto text = value.cast<std::string>();
    return AnyQuantity::parse(field != nullptr && field->name == "arrival_rate" ? request_rate_text(text)
                                                                                : text);
  }
  if (field != nullptr && !fleet) return to_dynamic(*field, value);
  return to_dynamic(value);
}

/// The numbers of a Python range, which stays a range.
Axis range_of(const AskedSubject& a, const std::string& name, py::handle range) {
  const auto count = py::len(range);
  if (count == 0) return Axis();
  const py::object start = range.attr("start");
  const DynamicValue first = axis_value(a, name, start);  // refuses a bare number where a unit is needed
  if (!std::holds_alternative<double>(first.value))
    throw InputError({.id = "mlsysim.python.181",
                      .message = fmt::format("a range cannot be the values of '{}'", name),
                      .key = name,
                      .found = py::repr(range).cast<std::string>(),
                      .expected = first.text() + " and its like, in a list"});
  return Axis::steps(std::get<double>(first.value), range.attr("step").cast<double>(), count, first.exps);
}

/// The numbers of a buffer of float64.
Axis numbers_of(const py::buffer& buffer) {
  const auto info = buffer.request();
  const auto* first = static_cast<const double*>(info.ptr);
  return {std::vector<double>(first, first + info.size)};
}

/// [(names, rows, a buffer of float64, a range or a text)]: a text is an axis as on the command line, without
/// its name.
Space space_of(const AskedSubject& a, const py::list& axes) {
  std::vector<SpaceAxis> out;
  for (const auto& item : axes) {
    const auto pair = item.cast<py::tuple>();
    SpaceAxis axis;
    for (const auto& name : pair[0].cast<py::tuple>()) axis.names.push_back(name.cast<std::string>());
    if (py::isinstance<py::str>(pair[1])) {
      const auto read = [&](std::string_view name, std::string_view value) {
        return axis_value(a, std::string(name), py::str(value.data(), value.size()));
      };
      const auto values = pair[1].cast<std::string>();
      if (axis.names.empty()) {
        for (auto& each : read_axes(values, read)) out.push_back(std::move(each));
        continue;
      }
      std::string text;
      for (const auto& name : axis.names) text += (text.empty() ? "" : ",") + name;
      out.push_back(parse_axis(text + "=" + values, read));
      continue;
    }
    if (py::isinstance(pair[1], py::module_::import("builtins").attr("range"))) {
      axis.add(range_of(a, axis.names.at(0), pair[1]));
      out.push_back(std::move(axis));
      continue;
    }
    if (PyObject_CheckBuffer(pair[1].ptr()) != 0) {
      axis.add(numbers_of(py::reinterpret_borrow<py::buffer>(pair[1])));
      out.push_back(std::move(axis));
      continue;
    }
    for (const auto& row : pair[1].cast<py::list>()) {
      const auto parts = row.cast<py::tuple>();
      if (parts.size() != axis.names.size())
        throw InputError({.id = "mlsysim.python.170",
                          .message = "a row of an axis has another number of values than names",
                          .found = std::to_string(parts.size()),
                          .expected = std::to_string(axis.names.size())});
      std::vector<DynamicValue> values;
      for (std::size_t k = 0; k < parts.size(); ++k) values.push_back(axis_value(a, axis.names[k], parts[k]));
      if (values.size() == 1)
        axis.add(std::move(values[0]));
      else
        axis.rows.push_back(std::move(values));
      const py::object first = parts[0];
      const bool named = object_in(first).object != nullptr;
      if (!named && axis.labels.empty()) continue;
      while (axis.labels.size() + 1 < axis.size()) axis.labels.push_back(axis.label(axis.labels.size()));
      axis.labels.push_back(named ? py::str(first.attr("name")).cast<std::string>()
                                  : axis.label(axis.size() - 1));
    }
    out.push_back(std::move(axis));
  }
  return {a.problem, std::move(out)};
}

Question question_of(const py::list& objectives, const std::vector<std::string>& constraints,
                     const std::vector<std::string>& show, std::size_t top,
                     const std::optional<std::string>& histogram, bool anything) {
  Question q;
  for (const auto& o : objectives) {
    const auto [goal, text] = o.cast<std::pair<std::string, std::string>>();
    q.objectives.push_back({goal == "minimize" ? Goal::minimize : Goal::maximize, text});
  }
  q.constraints = constraints;
  q.show = show;
  q.top = top;
  q.histogram = histogram;
  q.implicit_constraints = !anything;
  return q;
}

/// {name: value} of a found point, as `ask` takes them: numbers typed as their fields are, objects
/// themselves.
py::dict axes_at(const AskedSubject& a, const Space& space, const FoundPoint& point) {
  py::dict out;
  const auto rows = space.rows_at(point.index);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto& axis = space.axes()[k];
    // Off the grid a number is known by its text alone.
    if (point.between && point.labels[k] != axis.label(rows[k])) {
      const auto q = AnyQuantity::parse(point.labels[k]);
      out[py::str(axis.names[0])] = to_python(DynamicValue(Value(q.base()), q.exponents()));
      continue;
    }
    for (std::size_t i = 0; i < axis.names.size(); ++i) {
      const FieldInfo* field = find_field(a.fields, axis.names[i]);
      if (field == nullptr) field = find_field(space.sample().entry.inputs, axis.names[i]);
      const DynamicValue value = axis.value(rows[k], i);
      out[py::str(axis.names[i])] = field != nullptr ? to_python(*field, value) : to_python(value);
    }
  }
  return out;
}

/// Axis values of every point that an answer lists: (best, front).
py::tuple axes_of(const AskedSubject& a, const Space& space, const ExploreAnswer& answer) {
  py::list best, front;
  for (const auto& p : answer.best) best.append(axes_at(a, space, p));
  for (const auto& p : answer.front) front.append(axes_at(a, space, p));
  return py::make_tuple(best, front);
}

/// (JSON, text, seconds, state, why nothing is feasible or None, axes).
py::tuple answer_tuple(const AskedSubject& a, const Space& space, const ExploreAnswer& answer) {
  py::object why = py::none();
  if (!answer.objectives.empty() && answer.best.empty() && answer.front.empty())
    why = py::str(answer.why_infeasible().text());
  return py::make_tuple(render(answer, kJson), render(answer, kText), answer.seconds, answer.state, why,
                        axes_of(a, space, answer));
}

/// A search of the kind "optimize" or "pareto". Ctrl-C ends it with what it has.
py::tuple run_search(const AskedSubject& a, const std::string& kind, const py::list& axes,
                     const py::list& objectives, const std::vector<std::string>& constraints,
                     const std::vector<std::string>& show, std::size_t top,
                     const std::optional<std::string>& histogram, bool anything, const std::string& strategy,
                     unsigned threads, std::uint64_t shard, std::uint64_t shards, std::uint64_t evaluations,
                     std::uint64_t seed, const py::object& progress) {
  const Space space = space_of(a, axes);
  const Question question = question_of(objectives, constraints, show, top, histogram, anything);
  ExploreOptions how;
  const auto chosen = choice_of<Strategy>(strategy);
  if (!chosen)
    throw InputError({.id = "mlsysim.python.171",
                      .message = "there is no such strategy",
                      .key = "strategy",
                      .found = "'" + strategy + "'",
                      .expected = fmt::format("one of {}", fmt::join(Choices<Strategy>::names, ", "))});
  how.strategy = *chosen;
  how.evaluations = evaluations;
  how.seed = seed;
  how.threads = threads;
  how.shard = shard;
  how.shards = shards;
  std::atomic<bool> cancel{false};
  std::unique_ptr<py::error_already_set> interruption;
  how.cancel = &cancel;
  const auto watching = the_host().kept_callbacks();  // another thread may reload their plugin
  SweepCallbacks plugins(pointers_to(watching), a.subject.title);
  how.progress = [&](const Progress& p) {
    plugins.tell(p.done, p.total, p.seconds_left);
    const py::gil_scoped_acquire locked;
    if (interruption == nullptr && PyErr_CheckSignals() != 0) {
      interruption = std::make_unique<py::error_already_set>();
      cancel = true;
    }
    if (progress.is_none() || cancel) return;
    try {
      progress(p.done, p.total, p.rate, p.seconds_left);
    } catch (py::error_already_set& error) {
      if (!error.matches(PyExc_KeyboardInterrupt)) throw;
      interruption = std::make_unique<py::error_already_set>(error);
      cancel = true;
    }
  };
  ExploreAnswer answer;
  {
    const py::gil_scoped_release unlocked;
    answer = kind == "pareto" ? pareto(space, question, how) : optimize(space, question, how);
    plugins.finish(static_cast<double>(answer.total));
  }
  warn_of(plugins);
  auto found = answer_tuple(a, space, answer);
  if (interruption == nullptr) return found;
  interruption->value().attr("answer") = std::move(found);  // what was found until then
  throw py::error_already_set(*interruption);
}

py::tuple merge_search(const AskedSubject& a, const py::list& axes, const py::list& objectives,
                       const std::vector<std::string>& constraints, const std::vector<std::string>& show,
                       std::size_t top, const std::optional<std::string>& histogram, bool anything,
                       const std::vector<std::string>& states) {
  const Space space = space_of(a, axes);
  return answer_tuple(
      a, space, merge(space, question_of(objectives, constraints, show, top, histogram, anything), states));
}

/// One part of a branch and bound whose workers share the best value, `known` when it begins: (value, index,
/// boxes, points evaluated).
py::tuple bounded_search(const AskedSubject& a, const py::list& axes, const py::list& objectives,
                         const std::vector<std::string>& constraints, const std::vector<std::string>& show,
                         std::size_t top, const std::optional<std::string>& histogram, bool anything,
                         std::uint64_t part, std::uint64_t parts, double known) {
  const Space space = space_of(a, axes);
  const Question question = question_of(objectives, constraints, show, top, histogram, anything);
  ExploreOptions how;
  how.threads = 1;
  BoundedPart found;
  {
    const py::gil_scoped_release unlocked;
    found = bounded_part(space, question, how, part, parts, [&](double mine) {
      heed_signals();
      return std::min(known, mine);
    });
  }
  return py::make_tuple(found.value, found.index, found.boxes, found.evaluated);
}

/// The answer to the best point of all parts.
py::tuple bounded_merge(const AskedSubject& a, const py::list& axes, const py::list& objectives,
                        const std::vector<std::string>& constraints, const std::vector<std::string>& show,
                        std::size_t top, const std::optional<std::string>& histogram, bool anything,
                        double value, std::uint64_t index) {
  const Space space = space_of(a, axes);
  const Question question = question_of(objectives, constraints, show, top, histogram, anything);
  return answer_tuple(a, space,
                      bounded_answer(space, question, {.value = value, .index = index, .proven = true}));
}

py::dict sweep_rows(const AskedSubject& a, const py::list& axes, const std::vector<std::string>& constraints,
                    const std::vector<std::string>& show, bool anything, int interval, std::uint64_t shard,
                    std::uint64_t shards) {
  const Space space = space_of(a, axes);
  const Question question = question_of(py::list(), constraints, show, 1, std::nullopt, anything);
  return space_rows(space, question, {a.about, interval, a.subject.title},
                    shard_range(space.size(), shard, shards));
}

/// A form of a derivation, made when it is asked for.
template <class F> auto form(F&& make) {
  return [make = std::forward<F>(make)](const Explanation& e) {
    const py::gil_scoped_release unlocked;
    return make(e);
  };
}

std::string export_of(const AskedSubject& a, const std::vector<std::string>& results,
                      const std::string& language, const std::string& name) {
  return export_law(a.subject.entry, results, a.subject.point, language, name);
}

}  // namespace

void bind_explore(py::module_& m) {
  py::class_<Explanation, std::shared_ptr<Explanation>>(m, "_Explanation")
      .def("text", form([](const Explanation& e) { return render(e, {}); }))
      .def("json", form([](const Explanation& e) { return render(e, {.format = OutputFormat::json}); }))
      .def("markdown",
           form([](const Explanation& e) { return render(e, {.format = OutputFormat::markdown}); }))
      .def("latex", form([](const Explanation& e) { return to_latex(e); }));
  py::class_<AskedSubject, std::shared_ptr<AskedSubject>>(m, "_Asked")
      .def_property_readonly("title", [](const AskedSubject& a) { return a.subject.title; })
      .def_property_readonly("exact", [](const AskedSubject& a) { return a.subject.entry.is_law(); })
      .def_property_readonly(
          "inputs", [](const AskedSubject& a) { return fields_of(a.subject.entry.inputs, a.subject.point); })
      .def_property_readonly("results",
                             [](const AskedSubject& a) {
                               return fields_of(a.subject.entry.results, a.subject.entry(a.subject.point));
                             })
      .def("explain", &explained)
      .def_property_readonly("infeasible", &infeasible_of)
      .def("sensitivity",
           [](const AskedSubject& a, const std::string& result, const std::vector<std::string>& inputs,
              double step) {
             const py::gil_scoped_release unlocked;
             const auto r = sensitivity(a.with(inputs), result, {.inputs = inputs, .step = step});
             return std::pair{render(r, kJson), render(r, kText)};
           })
      .def("solve", &solve_asked)
      .def("uncertainty",
           [](const AskedSubject& a, const std::vector<std::string>& figures,
              const std::vector<std::string>& results, std::size_t samples, std::uint64_t seed,
              double coverage, bool estimates, const AskedSubject* other) {
             const py::gil_scoped_release unlocked;
             UncertaintyQuestion q{.figures = {},
                                   .estimates = estimates,
                                   .results = results,
                                   .samples = samples,
                                   .seed = seed,
                                   .coverage = coverage,
                                   .pause = heed_signals};
             for (const auto& text : figures) q.figures.push_back(UncertainFigure::parse(text));
             auto r = uncertainty(a.subject, q);
             if (other != nullptr) r.ranking = rank(a.subject, other->subject, r.results.front().result, q);
             return std::pair{render(r, kJson), render(r, kText)};
           })
      .def("intervals", &intervals_asked)
      .def("probability_below",
           [](const AskedSubject& a, const AskedSubject& b, const std::string& result,
              const std::vector<std::string>& figures, std::size_t samples, std::uint64_t seed,
              bool estimates) {
             const py::gil_scoped_release unlocked;
             UncertaintyQuestion q{.figures = {},
                                   .estimates = estimates,
                                   .results = {result},
                                   .samples = samples,
                                   .seed = seed,
                                   .pause = heed_signals};
             for (const auto& text : figures) q.figures.push_back(UncertainFigure::parse(text));
             return probability_below(a.subject, b.subject, result, q);
           })
      .def("compare",
           [](const AskedSubject& a, const AskedSubject& b, const std::string& result) {
             const py::gil_scoped_release unlocked;
             const auto r = compare(a.subject, b.subject, result);
             return std::pair{render(r, kJson), render(r, kText)};
           })
      .def("search", &run_search)
      .def("merge", &merge_search)
      .def("bounded", &bounded_search)
      .def("bounded_answer", &bounded_merge)
      .def("rows", &sweep_rows)
      .def("points", [](const AskedSubject& a, const py::list& axes) { return space_of(a, axes).size(); })
      .def("export", &export_of);
  m.def("_ask_scenario", &ask_scenario);
  m.def("_ask_resolver", &ask_resolver);
  m.def("_ask_resolver", [](const std::shared_ptr<Resolver>& resolver, const py::dict& values) {
    return ask_this(resolver, values);
  });
}

}  // namespace mlsysim::python
