#include <mlsysim/plot/report_page.hpp>

#include "detail/pass_pieces.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/explore/ask/compare.hpp>
#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/explore/subject/explanation.hpp>
#include <mlsysim/plot/answer_pictures.hpp>
#include <mlsysim/plot/explanation_forms.hpp>
#include <mlsysim/plot/scenario_pictures.hpp>
#include <mlsysim/reflect/label.hpp>
#include <mlsysim/report/detail/verdict.hpp>
#include <mlsysim/report/explanation_report.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace mlsysim {
namespace {

using Cell = Table::Cell;
constexpr std::size_t kMostLevers = 6;

ReportPart what_limits(const SystemEvaluation& card, const SensitivityReport& s) {
  ReportPart part{.heading = "What limits it"};
  if (const auto limit = limit_of(card.performance); !limit.empty())
    part.words.push_back(fmt::format("The longest part of {} is {}.", short_label(s.result), limit));
  if (const auto levers = lever_sentences(s); !levers.hardware.empty())
    part.words.push_back(levers.hardware.front());
  return part;
}

ReportPart what_would_change(const SystemEvaluation& card, const SensitivityReport& s) {
  ReportPart part{.heading = "What would change it"};
  if (!card.remedies.empty()) {
    Table t{
        .schema = "mlsysim/table@1", .title = "what would make it fit", .columns = {{"change"}, {"effect"}}};
    for (const auto& r : card.remedies) t.rows.push_back({r.change, r.effect});
    part.tables.push_back(std::move(t));
  }
  // The sentences on choices that the user has come first, then those on other hardware.
  const auto levers = lever_sentences(s);
  for (const auto* group : {&levers.choices, &levers.hardware})
    for (const auto& words : *group)
      if (part.words.size() < kMostLevers) part.words.push_back(words);
  return part;
}

/// Draws what can be drawn; what cannot is named with the reason.
ReportPart pictures(const Scenario& scenario, const SensitivityReport& s) {
  ReportPart part{.heading = "Pictures"};
  const auto add = [&](std::string_view name, const std::function<Picture()>& make) {
    try {
      auto picture = make();
      check(picture);
      part.pictures.push_back(std::move(picture));
    } catch (const Error& e) {
      part.words.push_back(fmt::format("No {}: {}.", name, e.facts().message));
    }
  };
  const bool training = s.result == "step_latency";
  add("waterfall", [&] { return waterfall_picture(scenario, s.result); });
  if (s.result == "itl") add("waterfall of ttft", [&] { return waterfall_picture(scenario, "ttft"); });
  add("roofline", [&] { return roofline_picture(scenario, s.result); });
  add("memory", [&] { return memory_picture(scenario); });
  add("timeline of memory", [&] { return memory_timeline_picture(scenario); });
  if (training && scenario.pp_size > 1) add("schedule", [&] { return schedule_picture(scenario); });
  add("tornado", [&] { return tornado_picture(s); });
  add("costs", [&] { return costs_picture(scenario); });
  add("emissions", [&] { return carbon_picture(scenario); });
  return part;
}

ReportPart numbers(const Scenario& scenario, const SystemEvaluation& card) {
  ReportPart part{.heading = "Every number, and where it comes from"};
  const auto derived = explainable_numbers(scenario);
  for (const auto* level : card.levels()) {
    Table t{.schema = "mlsysim/table@1",
            .title = fmt::format("{}: {}", level->level_name, name_of(level->status)),
            .columns = {{"number"}, {"value"}, {"meaning"}}};
    for (const auto& m : level->metrics) {
      t.rows.push_back({std::string(m.name.view()), m.text(), std::string(m.meaning.view())});
      if (std::find(derived.begin(), derived.end(), m.name.view()) == derived.end()) continue;
      const auto derivation = explanation(scenario, m.name.view());
      part.details.push_back({fmt::format("{} = {}", m.name.view(), m.text()),
                              render(derivation, RenderOptions{}), to_html(derivation)});
    }
    part.tables.push_back(std::move(t));
  }
  return part;
}

ReportPart assumptions(const SystemEvaluation& card, std::span<const Assumption> further) {
  ReportPart part{.heading = "Assumptions and their sources"};
  Table t{
      .schema = "mlsysim/table@1", .title = "assumptions", .columns = {{"what"}, {"taken as"}, {"because"}}};
  const auto add = [&](const Assumption& a) {
    t.rows.push_back({std::string(a.name.view()), a.value.str(), std::string(a.source.view())});
  };
  for (const auto& a : card.assumptions) add(a);
  for (const auto& a : further) add(a);
  part.tables.push_back(std::move(t));
  part.words = card.warnings;
  return part;
}

ReportPart difference(const Scenario& scenario, const Scenario& other, const std::string& metric) {
  ReportPart part{.heading = fmt::format("Against {}", detail::subject_words(other))};
  const auto here = SystemEvaluator::evaluate(scenario), there = SystemEvaluator::evaluate(other);
  Table t{
      .schema = "mlsysim/table@1",
      .title = "both",
      .columns = {{"number"}, {detail::subject_words(scenario)}, {detail::subject_words(other)}, {"ratio"}}};
  for (const auto* level : here.levels())
    for (const auto& m : level->metrics) {
      const auto* o = there.find(fmt::format("{}.{}", level->level_name, m.name.view()));
      if (o == nullptr || m.text() == o->text()) continue;
      const auto *a = std::get_if<double>(&m.value), *b = std::get_if<double>(&o->value);
      t.rows.push_back({label_of(m.name.view()), m.text(), o->text(),
                        a != nullptr && b != nullptr && *a != 0 ? pretty(*b / *a, 3) : std::string()});
    }
  part.tables.push_back(std::move(t));
  try {
    part.pictures.push_back(difference_picture(compare(subject_of(scenario), subject_of(other), metric)));
  } catch (const Error& e) {
    part.words.push_back(fmt::format("The difference is not taken apart: {}.", e.facts().message));
  }
  return part;
}

ReportPart measured(const Scenario& scenario) {
  ReportPart part{.heading = "The nearest measurements"};
  const auto rows = nearest_rows(scenario, standard_zoo());
  if (rows.empty()) {
    part.words.emplace_back("Nothing that ships was measured on this device in this mode.");
    return part;
  }
  Table t{.schema = "mlsysim/table@1",
          .title = "nearest",
          .columns = {{"table"}, {"row"}, {"distance"}, {"measured"}, {"predicted"}, {"error"}}};
  for (const auto& r : rows) {
    const auto exps = AnyQuantity::parse("1 " + r.unit).exponents();
    t.rows.push_back({r.table, r.row, pretty(r.distance, 3), Cell(r.measured, exps), Cell(r.predicted, exps),
                      fmt::format("{:+.1f} %", 100 * r.error())});
  }
  part.words.emplace_back(
      "Distance is the sum of the octaves by which batch, lengths and devices differ; 0 is the same point.");
  part.tables.push_back(std::move(t));
  return part;
}

}  // namespace

ReportPage report_page(const Scenario& scenario, const Scenario* other, std::span<const Assumption> further) {
  const auto card = SystemEvaluator::evaluate(scenario);
  const auto metric = main_time(scenario);
  const auto s = sensitivity(subject_of(scenario), metric);
  ReportPage page{.title = detail::subject_words(scenario), .answer = verdict_of(card)};
  page.parts = {what_limits(card, s), what_would_change(card, s), pictures(scenario, s)};
  if (other != nullptr) page.parts.push_back(difference(scenario, *other, metric));
  page.parts.push_back(measured(scenario));
  page.parts.push_back(numbers(scenario, card));
  page.parts.push_back(assumptions(card, further));
  return page;
}

}  // namespace mlsysim
