#include <mlsysim/explore/subject/explanation.hpp>

#include "finite_result.hpp"

#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/problem_laws.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>

namespace mlsysim {
namespace {

/// Inputs, the stated equation and the result: all that is known of code that is no law.
Derivation stated(const LawInfo& info, std::span<const FieldInfo> inputs, std::span<const double> point,
                  DerivedValue result) {
  Derivation d;
  d.own = std::make_shared<const LawInfo>(info);
  DerivedRecord record;
  record.law = d.own.get();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    record.inputs.push_back(
        {.name = inputs[i].name, .unit = inputs[i].unit, .exps = inputs[i].exps, .value = point[i]});
  record.results.push_back(std::move(result));
  d.records.push_back(std::move(record));
  return d;
}

bool has_prefix(const DerivedRecord& record, std::string_view prefix) {
  return std::any_of(record.inputs.begin(), record.inputs.end(),
                     [&](const auto& v) { return v.name.starts_with(prefix); });
}

/// Whether all laws that were to be opened are in the derivation.
void check_opened(const Derivation& d, std::string_view result, std::span<const std::string> open) {
  std::set<std::string> laws;
  for (const auto& r : d.records) laws.emplace(r.law->id);
  for (const auto& name : open) {
    if (laws.contains(name)) continue;
    const std::vector<std::string> names(laws.begin(), laws.end());
    throw LookupError(
        {.id = "mlsysim.explore.151",
         .message = fmt::format("'{}' cannot be opened: no law of that name is behind {}", name, result),
         .key = name,
         .expected = fmt::format("one of {}", fmt::join(names, ", ")),
         .hint = did_you_mean(name, names)});
  }
}

/// Where the inputs of a scenario's law come from.
void say_what_was_prepared(Explanation& out) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> groups{
      {{"hardware.", "the device's figures at this precision, from its zoo entry and its class"},
       {"links.", "the figures of the node's links and of the fabric"},
       {"facility.", "ratios of the facility and the grid, and the conventions of the books"},
       {"workload.stacks", "the sizes of the model, as its entry states them"},
       {"plan.", "what the plan stores and moves for each weight, value and token"}}};
  for (const auto& [prefix, words] : groups)
    if (has_prefix(out.derivation.records.front(), prefix))
      out.handed_in.push_back(fmt::format("{}*: {}; prepared in code before the law starts", prefix, words));
}

}  // namespace

Explanation explanation(const Subject& subject, std::string_view result, std::span<const std::string> open) {
  const std::size_t at = subject.result(result);
  const FieldInfo& field = subject.entry.results[at];
  Explanation out;
  out.subject = subject.title;
  out.result = field.name;
  out.meaning = field.meaning;
  out.unit = field.unit;
  out.exps = field.exps;
  out.assumptions = subject.assumptions;
  out.warnings = subject.warnings;
  out.keeps = subject.entry.self;
  if (subject.derive || subject.entry.is_law()) {
    check_inputs(subject.entry, subject.point);
    out.derivation = subject.derive ? subject.derive(subject.point, at, open)
                                    : derive_result(subject.entry, subject.point, at, open);
    out.value = out.derivation.records.front().results.front().value;
    detail::check_result(field, out.value);
    out.derivation.records.front().results.front().name = out.result;
    check_opened(out.derivation, out.result, open);
    if (subject.derive) say_what_was_prepared(out);
    return out;
  }
  out.value = subject.entry(subject.point)[at];
  detail::check_result(field, out.value);
  out.derivation = stated(subject.entry.info, subject.entry.inputs, subject.point,
                          {.name = out.result, .unit = field.unit, .exps = out.exps, .value = out.value});
  check_opened(out.derivation, out.result, open);
  out.handed_in.push_back(
      fmt::format("{} is code and no law over every scalar: its inputs, what it states of itself and the "
                  "result are known, "
                  "not the steps between them",
                  subject.entry.info.id));
  return out;
}

namespace {

std::string_view after_dot(std::string_view name) {
  const auto dot = name.find('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

/// A metric of the scorecard; a name without level is looked for in all of them.
const Metric* number_of(const SystemEvaluation& card, std::string_view name) {
  const Metric* m = card.find(name);
  if (m == nullptr && name.find('.') == std::string_view::npos)
    for (const auto* level : card.levels())
      if (m = level->find(name); m != nullptr) break;
  return m != nullptr && std::holds_alternative<double>(m->value) ? m : nullptr;
}

/// The name that a subject gives a metric.
std::string subject_name(const Subject& s, std::string_view metric) {
  if (metric == "memory") return "memory_used";
  const auto bare = after_dot(metric);
  // Two levels have an energy.
  const bool batch = metric == "performance.energy" &&
                     std::any_of(s.entry.results.begin(), s.entry.results.end(),
                                 [](const auto& f) { return f.name == "energy_per_batch"; });
  return batch ? "energy_per_batch" : std::string(bare);
}

bool known(const Subject& s, std::string_view name) {
  return std::any_of(s.entry.results.begin(), s.entry.results.end(),
                     [&](const FieldInfo& f) { return f.name == name; });
}

}  // namespace

std::vector<std::string> explainable_numbers(const Scenario& scenario) {
  auto out = explainable(scenario);
  const auto add = [&](const std::string& name) {
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  };
  for (const auto& f : subject_of(scenario).entry.results) add(f.name);
  const auto card = SystemEvaluator::evaluate(scenario);
  for (const auto* level : card.levels())
    for (const auto& m : level->metrics)
      if (std::holds_alternative<double>(m.value)) add(m.name.str());
  return out;
}

Explanation explanation(const Scenario& scenario, std::string_view metric,
                        std::span<const std::string> open) {
  const auto subject = subject_of(scenario);
  const std::string name = subject_name(subject, metric);
  auto parts = terms_behind(scenario, name == "memory_used" ? "memory" : name);
  Explanation out;
  if (known(subject, name)) {
    out = explanation(subject, name, open);
  } else {
    const auto card = SystemEvaluator::evaluate(scenario);
    const Metric* m = number_of(card, metric);
    if (m == nullptr) {
      const auto names = explainable_numbers(scenario);
      constexpr std::size_t most = 12;  // the numbers that are asked most stand first
      throw LookupError(
          {.id = "mlsysim.explore.150",
           .message = fmt::format("'{}' is no number of this scorecard", metric),
           .key = std::string(metric),
           .expected = names.size() <= most
                           ? fmt::format("one of {}", fmt::join(names, ", "))
                           : fmt::format("one of {} and {} others (mlsysim eval --verbose has all)",
                                         fmt::join(std::span(names).first(most), ", "), names.size() - most),
           .hint = did_you_mean(after_dot(metric), names)});
    }
    out.subject = subject.title;
    out.result = m->name;
    out.meaning = m->meaning;
    out.unit = m->unit;
    out.exps = m->exps;
    out.value = std::get<double>(m->value);
    out.assumptions = card.assumptions;
    out.warnings = card.warnings;
    static constexpr LawInfo scorecard{.id = "SystemEvaluator", .equation = "", .source = ""};
    out.derivation =
        stated(scorecard, {}, {}, {.name = out.result, .unit = {}, .exps = out.exps, .value = out.value});
    out.handed_in.push_back(
        fmt::format("{}: {}; the scorecard takes it as it stands or computes it in code that is no law",
                    out.result, out.meaning));
  }
  out.terms = std::move(parts.text);
  out.operators = std::move(parts.operators);
  out.figures = std::move(parts.figures);
  return out;
}

namespace {

/// The name that the law has for a number that a resolver reports under a second name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kLawNames{
    {{"memory_footprint", "memory_used"},
     {"latency", "step_latency"},
     {"energy", "energy_per_batch"},
     {"decode_stall_bound", "prefill_chunk_time"}}};

/// The result of a law that a resolver reports under a name; nothing where it computes that number from
/// others.
std::optional<std::size_t> law_result(const ProblemLaw& law, std::string_view name) {
  const auto reported = [&](std::string_view wanted) -> std::optional<std::size_t> {
    for (const auto i : law.reported)
      if (law.results[i].name == wanted) return i;
    return std::nullopt;
  };
  if (const auto own = reported(name)) return own;
  for (const auto& [theirs, ours] : kLawNames)
    if (theirs == name) return reported(ours);
  return std::nullopt;
}

/// Inputs of the derivation that the resolver settles in code from its own.
void say_what_was_settled(Explanation& out, const Resolver& resolver, const void* inputs) {
  for (const auto& v : out.derivation.records.front().inputs) {
    if (v.name.find('.') != std::string::npos) continue;  // said by their group
    const FieldInfo* own = find_field(resolver.inputs(), v.name);
    const auto given = own == nullptr ? Value() : own->read(inputs);
    if (const auto* x = std::get_if<double>(&given); x != nullptr && *x == v.value) continue;
    out.handed_in.push_back(fmt::format("{}: settled in code from the inputs before the law starts", v.name));
  }
}

}  // namespace

Explanation explanation(std::shared_ptr<const Resolver> resolver, const void* inputs, std::string_view result,
                        std::span<const std::string> open) {
  const auto subject = subject_of(resolver, inputs);
  if (subject.entry.is_law()) return explanation(subject, result, open);
  NoteBook book;
  Notes notes(book);
  const auto problem = settle(*resolver, inputs, notes);
  const auto law = problem ? problem_law(*problem) : nullptr;
  const auto at =
      law != nullptr ? law_result(*law, subject.entry.results[subject.result(result)].name) : std::nullopt;
  auto out = explanation(subject, result, at ? std::span<const std::string>() : open);
  if (!at) return out;
  auto derived = derive_result(*law, problem_leaves(*problem), *at, open);
  // The resolver leaves a result empty that the request does not have, e.g. the time of a prefill chunk where
  // the prompt is not chunked, though the law computes it.
  if (derived.records.front().results.front().value != out.value) return out;
  derived.own = std::move(out.derivation.own);
  out.derivation = std::move(derived);
  auto& whole = out.derivation.records.front();
  whole.law = out.derivation.own.get();
  whole.results.front().name = out.result;
  check_opened(out.derivation, out.result, open);
  out.handed_in = {
      fmt::format("{} is code around a law: it prepares the law's inputs", subject.entry.info.id)};
  say_what_was_prepared(out);
  say_what_was_settled(out, *resolver, inputs);
  out.assumptions = std::move(book.assumptions);
  out.warnings = std::move(book.warnings);
  out.keeps = std::make_shared<std::pair<std::shared_ptr<const Resolver>, std::shared_ptr<const ProblemLaw>>>(
      std::move(resolver), law);
  return out;
}

}  // namespace mlsysim
