#include <mlsysim/explore/explanation.hpp>

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/price/pricing.hpp>
#include <mlsysim/resolve/dynamic_value.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace mlsysim {
namespace {

/// Inputs, the stated equation and the result: all that is known of code that is no law.
Derivation stated(const LawInfo& info, std::span<const FieldInfo> inputs, std::span<const double> point, DerivedValue result) {
  Derivation d;
  d.own = std::make_shared<const LawInfo>(info);
  DerivedRecord record;
  record.law = d.own.get();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    record.inputs.push_back({.name = inputs[i].name, .unit = inputs[i].unit, .exps = inputs[i].exps, .value = point[i]});
  record.results.push_back(std::move(result));
  d.records.push_back(std::move(record));
  return d;
}

bool has_prefix(const DerivedRecord& record, std::string_view prefix) {
  return std::any_of(record.inputs.begin(), record.inputs.end(), [&](const auto& v) { return v.name.starts_with(prefix); });
}

/// Whether all laws that were to be opened are in the derivation.
void check_opened(const Derivation& d, std::string_view result, std::span<const std::string> open) {
  std::set<std::string> laws;
  for (const auto& r : d.records) laws.emplace(r.law->id);
  for (const auto& name : open) {
    if (laws.contains(name)) continue;
    const std::vector<std::string> names(laws.begin(), laws.end());
    throw LookupError({.id = "mlsysim.explore.151",
                       .message = fmt::format("'{}' cannot be opened: no law of that name is behind {}", name, result),
                       .key = name,
                       .expected = fmt::format("one of {}", fmt::join(names, ", ")),
                       .hint = did_you_mean(name, names)});
  }
}

/// Where the inputs of a scenario's law come from.
void say_what_was_prepared(Explanation& out) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> groups{
      {{"device.", "the device's figures at this precision, from its zoo entry and the conventions"},
       {"links.", "the figures of the node's links and of the fabric"},
       {"facility.", "ratios of the facility and the grid, and the conventions of the books"},
       {"shape.", "the sizes of the model"},
       {"plan.", "what the plan stores and moves for each weight, value and token"}}};
  for (const auto& [prefix, words] : groups)
    if (has_prefix(out.derivation.records.front(), prefix))
      out.handed_in.push_back(fmt::format("{}*: {}; prepared in code before the law starts", prefix, words));
}

/// The inputs of a scenario's law under the names that everyone else calls them by.
void publish_names(Derivation& d) {
  const auto bare = [](std::string& name) {
    if (name.starts_with("run.")) name.erase(0, 4);
  };
  for (auto& v : d.records.front().inputs) bare(v.name);
  for (auto& n : d.nodes)
    if (n.op == "input") bare(n.name);
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
    out.derivation = subject.derive ? subject.derive(subject.point, at, open) : derive_result(subject.entry, subject.point, at, open);
    out.value = out.derivation.records.front().results.front().value;
    out.derivation.records.front().results.front().name = out.result;
    check_opened(out.derivation, out.result, open);
    if (subject.derive) {
      say_what_was_prepared(out);
      publish_names(out.derivation);
    }
    return out;
  }
  out.value = subject.entry(subject.point)[at];
  out.derivation = stated(subject.entry.info, subject.entry.inputs, subject.point,
                          {.name = out.result, .unit = field.unit, .exps = out.exps, .value = out.value});
  check_opened(out.derivation, out.result, open);
  out.handed_in.push_back(fmt::format("{} is code and no law over every scalar: its inputs, what it states of itself and the result are known, "
                                      "not the steps between them", subject.entry.info.id));
  return out;
}

namespace {

std::string_view without_level(std::string_view name) {
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
  const auto bare = without_level(metric);
  // Two levels have an energy.
  const bool batch = metric == "performance.energy" &&
                     std::any_of(s.entry.results.begin(), s.entry.results.end(), [](const auto& f) { return f.name == "energy_per_batch"; });
  return batch ? "energy_per_batch" : std::string(bare);
}

bool known(const Subject& s, std::string_view name) {
  return std::any_of(s.entry.results.begin(), s.entry.results.end(), [&](const FieldInfo& f) { return f.name == name; });
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

Explanation explanation(const Scenario& scenario, std::string_view metric, std::span<const std::string> open) {
  const auto subject = subject_of(scenario);
  const std::string name = subject_name(subject, metric);
  Explanation out;
  if (known(subject, name)) {
    out = explanation(subject, name, open);
  } else {
    const auto card = SystemEvaluator::evaluate(scenario);
    const Metric* m = number_of(card, metric);
    if (m == nullptr) {
      const auto names = explainable_numbers(scenario);
      throw LookupError({.id = "mlsysim.explore.150",
                         .message = fmt::format("'{}' is no number of this scorecard", metric),
                         .key = std::string(metric),
                         .expected = fmt::format("one of {}", fmt::join(names, ", ")),
                         .hint = did_you_mean(without_level(metric), names)});
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
    out.derivation = stated(scorecard, {}, {}, {.name = out.result, .unit = {}, .exps = out.exps, .value = out.value});
    out.handed_in.push_back(fmt::format("{}: {}; the scorecard takes it as it stands or computes it in code that is no law", out.result, out.meaning));
  }
  Notes quiet;
  const auto tables = explainable(scenario);
  const std::string table = name == "memory_used" ? "memory" : name;
  if (std::find(tables.begin(), tables.end(), table) != tables.end()) {
    out.terms = explain(scenario, table);
    if (table != "memory" && subject.derive && pricing_for(scenario.fidelity, *scenario.workload, quiet).lists_operators())
      out.operators = operator_table(scenario, table);
  }
  out.figures = device_figures(scenario);
  return out;
}

namespace {

/// What a model calls a number of the scorecard.
std::string_view scorecard_name(std::string_view result) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> names{{{"step_latency_total", "step_latency"},
                                                                                       {"communication_latency", "comm_overhead"},
                                                                                       {"pipeline_bubble_latency", "pipeline_bubble"},
                                                                                       {"effective_throughput", "fleet_throughput"}}};
  for (const auto& [own, card] : names)
    if (own == result) return card;
  return result;
}

/// The scenario with the inputs of a model, as far as the two have them in common.
Scenario scenario_of(const Resolver& resolver, const void* inputs, Mode mode) {
  Scenario s;
  double degrees = 1;
  const auto fields = describe<Scenario>();
  for (const auto& f : resolver.inputs()) {
    const FieldInfo* own = find_field(fields, f.name);
    if (own == nullptr || own->kind != f.kind || own->exps != f.exps || own->object_type != f.object_type) continue;
    const auto value = read_dynamic(f, inputs);
    if (std::holds_alternative<std::monostate>(value.value)) continue;
    write_checked(*own, &s, value);
    if (const auto* x = std::get_if<double>(&value.value); x != nullptr && (f.name == "tp_size" || f.name == "pp_size" || f.name == "ep_size")) degrees *= *x;
  }
  s.mode = mode;
  if (s.fleet == nullptr) s.accelerators = degrees;
  return s;
}

}  // namespace

Explanation explanation(std::shared_ptr<const Resolver> resolver, const void* inputs, std::string_view result, std::span<const std::string> open) {
  const auto subject = subject_of(resolver, inputs);
  if (subject.entry.is_law()) return explanation(subject, result, open);
  auto out = explanation(subject, result);
  const auto name = scorecard_name(out.result);
  for (const Mode mode : {Mode::serve, Mode::train, Mode::infer}) {
    Subject asked;
    Explanation derived;
    try {
      const auto s = scenario_of(*resolver, inputs, mode);
      if (s.workload == nullptr || (s.hardware == nullptr && s.fleet == nullptr)) break;
      asked = subject_of(s);
      if (!known(asked, name)) continue;
      derived = explanation(asked, name);
    } catch (const Error&) {  // there is no such scenario in this mode
      continue;
    }
    if (derived.exps != out.exps || !(std::abs(derived.value - out.value) <= 1e-9 * std::abs(out.value))) continue;
    if (!open.empty()) derived = explanation(asked, name, open);
    out.derivation = derived.derivation;
    out.handed_in = derived.handed_in;
    out.handed_in.insert(out.handed_in.begin(), fmt::format("{} is code and no law over every scalar; what follows is the derivation of {} in the scenario that asks the "
                                                            "same in mode {}, which gives the same number", subject.entry.info.id, name, name_of(mode)));
    out.assumptions = derived.assumptions;
    out.warnings = derived.warnings;
    out.keeps = derived.keeps;
    return out;
  }
  check_opened(out.derivation, result, open);
  return out;
}

}  // namespace mlsysim
