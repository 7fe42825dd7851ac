#include <mlsysim/report/scorecard_report.hpp>

#include "detail/json_value.hpp"

#include <mlsysim/engine/plan_assertion.hpp>
#include <mlsysim/engine/scorecard.hpp>
#include <mlsysim/report/detail/text_layout.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/detail/quoted.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mlsysim {
namespace {

using detail::Json;
using detail::Paint;
using LevelStatus = EvaluationLevel::Status;

/// Those that flat keys are made of.
std::array<const EvaluationLevel*, 3> levels_of(const SystemEvaluation& e) {
  return {&e.feasibility, &e.performance, &e.macro};
}

Paint paint_of(LevelStatus status) {
  return status == LevelStatus::pass ? Paint::good : status == LevelStatus::fail ? Paint::bad : Paint::warn;
}

/// For readers; a value below one that is named a share is a percentage to them.
std::string shown(const Metric& m, int digits) { return m.text(digits); }

/// "1 assumption", "26 assumptions".
std::string counted(std::size_t n) { return fmt::format("{} assumption{}", n, n == 1 ? "" : "s"); }

/// One sentence: what a reader would ask about first, and how many more there are.
std::string assumed(const std::vector<Assumption>& all) {
  static constexpr std::array<std::string_view, 8> first{
      "mode", "batch_size", "seq_len", "precision", "accelerators", "duration_days", "grid", "kwh_price"};
  std::string out;
  std::size_t named = 0;
  for (const auto name : first) {
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const auto& a) { return a.name.view() == name; });
    if (at == all.end()) continue;
    out += fmt::format("{}{} {}", named++ == 0 ? "assumed: " : ", ", name, at->value.str());
  }
  if (named == 0) return counted(all.size());
  return named == all.size() ? out : out + fmt::format(", and {} more", all.size() - named);
}

std::string bound_words(const AssertionResult& a) {
  return fmt::format("{} {} {}", a.metric, a.bound == AssertionResult::Bound::max ? "<=" : ">=", a.limit);
}

std::string title_of(const SystemEvaluation& e) {
  auto title = fmt::format("{} on {} · {} · {} fidelity", e.workload, e.hardware, e.mode, e.fidelity);
  if (!e.guess.empty()) title += " · shape guessed";
  if (!e.load.empty()) title += fmt::format(" · {} · {}", e.load, e.lengths);
  if (!e.runtime.empty()) title += fmt::format(" · {}", e.runtime);
  return e.scenario_name == "scenario" || e.scenario_name.empty() ? title : e.scenario_name + ": " + title;
}

void write_memory(detail::Box& box, const SystemEvaluation& e, const RenderOptions& o) {
  const auto* used = e.feasibility.find("memory_used");
  const auto* capacity = e.feasibility.find("memory_capacity");
  const auto* share = e.feasibility.find("memory_utilization");
  if (used != nullptr && capacity != nullptr && share != nullptr) {
    const double full = share->number();
    const Paint paint = full > 1 ? Paint::bad : full > 0.9 ? Paint::warn : Paint::good;
    box.raw(fmt::format(
        "  memory  {}  {} %   {} of {}",
        detail::painted(detail::bar(full, std::min<std::size_t>(30, box.inner() - 46)), paint, o.colour),
        100 * full < 1e4 ? fmt::format("{:.1f}", 100 * full) : fmt::format("{:.3g}", 100 * full),
        shown(*used, o.digits), shown(*capacity, o.digits)));
  }
  std::string parts;
  for (const auto& m : e.memory) {
    if (!parts.empty()) parts += " · ";
    parts += fmt::format("{} {}", m.name, shown(m, 3));
  }
  if (!parts.empty()) box.line("          " + parts, 10);
}

void write_level(detail::Box& box, const EvaluationLevel& level, const RenderOptions& o) {
  const auto lines = detail::wrapped(level.summary.str(), box.inner() - 22);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto left = i > 0
                          ? std::string(22, ' ')
                          : detail::painted(fmt::format("{:<12} ", level.level_name), Paint::bold, o.colour) +
                                detail::painted(fmt::format("{:<7}", name_of(level.status)),
                                                paint_of(level.status), o.colour) +
                                "  ";
    box.raw(left + lines[i]);
  }
}

void write_metrics(detail::Box& box, const EvaluationLevel& level, const RenderOptions& o) {
  std::size_t names = 0, values = 0;
  for (const auto& m : level.metrics) {
    names = std::max(names, detail::shown_width(m.name));
    values = std::max(values, detail::shown_width(shown(m, o.digits)));
  }
  for (const auto& m : level.metrics) {
    const auto left = fmt::format("  {}  {}", detail::padded(m.name, names),
                                  detail::padded_left(shown(m, o.digits), values));
    const std::size_t used = detail::shown_width(left) + 2;
    if (used + 8 > box.inner()) {  // a narrow terminal shows names and values alone
      box.raw(left);
      continue;
    }
    const auto meaning = detail::wrapped(m.meaning, box.inner() - used);
    box.raw(left + "  " + detail::painted(meaning.front(), Paint::dim, o.colour));
    for (std::size_t i = 1; i < meaning.size(); ++i)
      box.raw(std::string(used, ' ') + detail::painted(meaning[i], Paint::dim, o.colour));
  }
}

std::string text_of(const SystemEvaluation& e, const RenderOptions& o,
                    std::span<const AssertionResult> assertions) {
  detail::Box box(std::max<std::size_t>(o.width, 60), o.colour);
  write_level(box, e.feasibility, o);
  write_memory(box, e, o);
  if (!e.remedies.empty()) {
    box.line("  would fit with any one of:");
    for (const auto& r : e.remedies) box.line(fmt::format("    {}: {}", r.change, r.effect), 6);
  } else if (e.feasibility.status == LevelStatus::fail) {
    box.line("  no single change of batch, precision or number of devices makes it fit");
  }
  for (const auto* level : e.levels()) {
    if (level == &e.feasibility) continue;
    box.rule();
    write_level(box, *level, o);
    write_metrics(box, *level, o);
  }
  if (!assertions.empty()) {
    box.rule();
    box.line("assertions of the plan");
    for (const auto& a : assertions) {
      box.line(fmt::format(
                   "  {}  {}, found {}",
                   detail::painted(a.passed ? "PASS" : "FAIL", a.passed ? Paint::good : Paint::bad, o.colour),
                   bound_words(a), a.found),
               8);
      if (!a.note.empty()) box.line("        " + a.note, 8);
    }
  }
  std::string out = box.text(title_of(e));
  for (const auto& w : e.warnings)
    for (bool first = true; const auto& l : detail::wrapped(w, o.width - 10)) {
      out += (first ? detail::painted("warning: ", Paint::warn, o.colour) : "         ") + l + "\n";
      first = false;
    }
  out += counted(e.assumptions.size()) + "\n";
  std::size_t names = 0, values = 0;
  for (const auto& a : e.assumptions) {
    names = std::max(names, a.name.size());
    values = std::max(values, std::min<std::size_t>(a.value.str().size(), 28));
  }
  for (const auto& a : e.assumptions)
    out += fmt::format("  {}  {}  {}\n", detail::padded(a.name, names), detail::padded(a.value.str(), values),
                       detail::painted(a.source, Paint::dim, o.colour));
  return out;
}

std::string markdown_of(const SystemEvaluation& e, const RenderOptions& o,
                        std::span<const AssertionResult> assertions) {
  std::string out = fmt::format("# {}\n", title_of(e));
  for (const auto* level : e.levels()) {
    out +=
        fmt::format("\n## {}: {}\n\n{}\n", level->level_name, name_of(level->status), level->summary.str());
    if (level->metrics.empty()) continue;
    out += "\n| metric | value | meaning |\n| --- | ---: | --- |\n";
    for (const auto& m : level->metrics)
      out += fmt::format("| {} | {} | {} |\n", m.name, detail::markdown_cell(shown(m, o.digits)),
                         detail::markdown_cell(m.meaning));
    if (level != &e.feasibility) continue;
    out += "\n| memory | size |\n| --- | ---: |\n";
    for (const auto& m : e.memory) out += fmt::format("| {} | {} |\n", m.name, shown(m, o.digits));
    if (!e.remedies.empty()) out += "\nIt would fit with any one of:\n\n";
    for (const auto& r : e.remedies) out += fmt::format("- {}: {}\n", r.change, r.effect);
  }
  if (!assertions.empty()) out += "\n## assertions\n\n| assertion | found | |\n| --- | ---: | --- |\n";
  for (const auto& a : assertions)
    out += fmt::format("| {} | {} | {} |\n", bound_words(a), a.found, a.passed ? "PASS" : "FAIL");
  for (const auto& w : e.warnings) out += fmt::format("\n> warning: {}\n", w);
  if (o.verbosity == Verbosity::verbose) {
    out += "\n## assumptions\n\n| name | value | source |\n| --- | --- | --- |\n";
    for (const auto& a : e.assumptions)
      out += fmt::format("| {} | {} | {} |\n", detail::markdown_cell(a.name),
                         detail::markdown_cell(a.value.str()), detail::markdown_cell(a.source));
  } else {
    out += "\n" + assumed(e.assumptions) + ".\n";
  }
  return out;
}

Json metric_json(const Metric& m) {
  Json out{{"value", detail::json_value(m.value, m.exps, "")}, {"unit", canonical_unit(m.exps)}};
  if (!m.unit.empty()) {
    out["display_value"] = detail::json_value(m.value, m.exps, m.unit);
    out["display_unit"] = m.unit.view();
  }
  out["display"] = m.text();
  out["meaning"] = m.meaning.view();
  return out;
}

std::string json_of(const SystemEvaluation& e, std::span<const AssertionResult> assertions) {
  const bool held = std::all_of(assertions.begin(), assertions.end(), [](const auto& a) { return a.passed; });
  const bool fits = e.feasibility.status != LevelStatus::fail;
  Json out{{"schema", "mlsysim/evaluation@1"},
           {"status", !e.passed_all() ? "infeasible"
                      : held          ? "ok"
                                      : "sla_failed"},
           {"scenario", e.scenario_name},
           {"workload", e.workload},
           {"hardware", e.hardware},
           {"mode", e.mode},
           {"fidelity", e.fidelity},
           {"load", e.load},
           {"lengths", e.lengths},
           {"runtime", e.runtime},
           {"feasible", fits}};
  if (!e.guess.empty()) out["guess"] = e.guess;
  for (const auto* level : levels_of(e)) {
    out[level->level_name.substr(0, 1) + "_status"] = name_of(level->status);
    for (const auto& m : level->metrics)
      out[flat_key(level->level_name, m.name)] = detail::json_value(m.value, m.exps, m.unit);
  }
  for (const auto* level : e.levels()) {
    Json metrics = Json::object();
    for (const auto& m : level->metrics) metrics[m.name.str()] = metric_json(m);
    out["levels"][level->level_name] = {{"status", name_of(level->status)},
                                        {"summary", level->summary.str()},
                                        {"metrics", std::move(metrics)}};
  }
  out["memory"] = Json::object();
  for (const auto& m : e.memory) out["memory"][m.name.str()] = metric_json(m);
  out["remedies"] = Json::array();
  for (const auto& r : e.remedies) out["remedies"].push_back({{"change", r.change}, {"effect", r.effect}});
  if (!assertions.empty()) {
    out["assertions"] = Json::array();
    out["violations"] = Json::array();
    for (const auto& a : assertions) {
      Json one{{"metric", a.metric},
               {"bound", a.bound == AssertionResult::Bound::max ? "max" : "min"},
               {"limit", a.limit},
               {"found", a.found},
               {"passed", a.passed}};
      if (!a.note.empty()) one["note"] = a.note;
      if (!a.passed) out["violations"].push_back(one);
      out["assertions"].push_back(std::move(one));
    }
  }
  out["warnings"] = e.warnings;
  out["assumptions"] = Json::array();
  for (const auto& a : e.assumptions)
    out["assumptions"].push_back(
        {{"name", a.name.view()}, {"value", a.value.str()}, {"source", a.source.view()}});
  return detail::json_document(out);
}

std::string csv_of(const SystemEvaluation& e, std::span<const AssertionResult> assertions) {
  std::string out = "level,metric,value,unit,base_value,base_unit,meaning\n";
  const auto line = [&](std::string_view level, const Metric& m) {
    const auto* number = std::get_if<double>(&m.value);
    const bool finite = number != nullptr && std::isfinite(*number);
    out += fmt::format("{},{},{},{},{},{},{}\n", level, m.name,
                       number == nullptr ? detail::csv_field(m.text())
                       : finite          ? format_exact(m.number())
                                         : "",
                       m.unit, finite ? format_exact(*number) : "",
                       number == nullptr ? "" : canonical_unit(m.exps), detail::csv_field(m.meaning));
  };
  for (const auto* level : e.levels()) {
    out += fmt::format("{},status,{},,,,{}\n", level->level_name, name_of(level->status),
                       detail::csv_field(level->summary.str()));
    for (const auto& m : level->metrics) line(level->level_name, m);
  }
  for (const auto& m : e.memory) line("memory", m);
  for (const auto& a : assertions)
    out += fmt::format("assertion,{},{},,,,{}\n", detail::csv_field(bound_words(a)),
                       a.passed ? "PASS" : "FAIL", detail::csv_field("found " + a.found));
  return out;
}

}  // namespace

std::string flat_key(std::string_view level, std::string_view metric) {
  // Names of the Python package that carry a unit; every other metric keeps its name.
  static constexpr std::pair<std::string_view, std::string_view> with_unit[] = {
      {"memory_used", "memory_used_gb"}, {"memory_capacity", "memory_capacity_gb"}, {"tco", "tco_usd"}};
  for (const auto& [name, flat] : with_unit)
    if (name == metric) metric = flat;
  return fmt::format("{}_{}", level.substr(0, 1), metric);
}

std::string render(const SystemEvaluation& evaluation, const RenderOptions& options,
                   std::span<const AssertionResult> assertions) {
  switch (options.format) {
    case OutputFormat::text:
      break;
    case OutputFormat::json:
      return json_of(evaluation, assertions);
    case OutputFormat::markdown:
      return markdown_of(evaluation, options, assertions);
    case OutputFormat::csv:
      return csv_of(evaluation, assertions);
  }
  return options.verbosity == Verbosity::verbose ? text_of(evaluation, options, assertions)
                                                 : brief_card(evaluation, options, assertions);
}

}  // namespace mlsysim
