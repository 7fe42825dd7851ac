#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/report/explore_report.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include "detail/brief_explore.hpp"
#include "detail/json_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

using detail::Json;

Json point_json(const ExploreAnswer& a, const FoundPoint& p) {
  Json axes = Json::object(), objectives = Json::object(), shown = Json::object();
  for (std::size_t k = 0; k < p.labels.size(); ++k) axes[a.axes[k]] = p.labels[k];
  for (std::size_t k = 0; k < p.objectives.size(); ++k)
    objectives[a.objectives[k].text] =
        detail::json_value(p.objectives[k], a.exps[k], detail::display_unit(a.units[k], a.exps[k]));
  for (std::size_t k = 0; k < p.shown.size(); ++k)
    shown[a.show[k]] =
        detail::json_value(p.shown[k], a.show_exps[k], detail::display_unit(a.show_units[k], a.show_exps[k]));
  Json out{{"index", p.index},
           {"between", p.between},
           {"axes", axes},
           {"objectives", objectives},
           {"shown", shown}};
  if (!p.warnings.empty()) out["warnings"] = p.warnings;
  return out;
}

Json points_json(const ExploreAnswer& a, const std::vector<FoundPoint>& points) {
  Json out = Json::array();
  for (const auto& p : points) out.push_back(point_json(a, p));
  return out;
}

Json json_of(const ExploreAnswer& a) {
  Json objectives = Json::array(), constraints = Json::array(), reasons = Json::object(),
       show = Json::array();
  for (std::size_t k = 0; k < a.objectives.size(); ++k)
    objectives.push_back({{"goal", a.objectives[k].goal == Goal::minimize ? "minimize" : "maximize"},
                          {"text", a.objectives[k].text},
                          {"unit", detail::display_unit(a.units[k], a.exps[k])}});
  for (std::size_t k = 0; k < a.show.size(); ++k)
    show.push_back({{"text", a.show[k]}, {"unit", detail::display_unit(a.show_units[k], a.show_exps[k])}});
  for (const auto& c : a.constraints) {
    Json j{{"text", c.text}, {"violated", c.violated}, {"alone", c.alone}, {"relaxation", c.relaxation}};
    if (c.nearest) j["nearest"] = point_json(a, *c.nearest);
    constraints.push_back(std::move(j));
  }
  for (const auto& [reason, points] : a.skip_reasons) reasons[reason] = points;
  Json j{{"schema", "mlsysim/exploration@1"},
         {"title", a.title},
         {"axes", a.axes},
         {"objectives", objectives},
         {"show", show},
         {"total", a.total},
         {"evaluated", a.evaluated},
         {"covered", a.covered},
         {"feasible", a.feasible},
         {"infeasible", a.infeasible},
         {"not_finite", a.not_finite},
         {"skipped", a.skipped},
         {"skip_reasons", reasons},
         {"constraints", constraints},
         {"exactness", name_of(a.exactness)},
         {"complete", a.complete},
         {"best", points_json(a, a.best)},
         {"front", points_json(a, a.front)}};
  if (!a.warnings.empty()) j["warnings"] = a.warnings;
  if (!a.method.empty()) j["method"] = a.method;
  if (a.one_by_one) j["one_by_one"] = true;
  if (const auto volume = a.relative_hypervolume()) {
    Json ideal = Json::array(), nadir = Json::array();
    const auto best = a.ideal(), worst = a.nadir();
    for (std::size_t k = 0; k < best.size(); ++k) {
      ideal.push_back(detail::json_value(best[k], a.exps[k], detail::display_unit(a.units[k], a.exps[k])));
      nadir.push_back(detail::json_value(worst[k], a.exps[k], detail::display_unit(a.units[k], a.exps[k])));
    }
    j["hypervolume"] = {{"relative", detail::json_number(*volume)},
                        {"base_units", detail::json_number(a.hypervolume(worst))},
                        {"ideal", ideal},
                        {"reference", nadir}};
  }
  if (a.conflict) {
    j["conflict"] = {{"constraints", a.conflict->constraints}, {"relaxations", a.conflict->relaxations}};
    if (a.conflict->nearest) j["conflict"]["nearest"] = point_json(a, *a.conflict->nearest);
  }
  if (a.boxes > 0)
    j["certificate"] = {
        {"boxes", a.boxes}, {"bound_base_units", detail::json_number(a.bound)}, {"gap", 1e-12}};
  if (a.histogram) {
    Json bins = Json::array();
    for (const auto& [bin, points] : a.histogram->bins)
      bins.push_back(
          {{"from", std::exp2(bin / 4.0)}, {"to", std::exp2((bin + 1) / 4.0)}, {"points", points}});
    j["histogram"] = {{"text", a.histogram->text},
                      {"unit", canonical_unit(a.histogram->exps)},
                      {"bins", bins},
                      {"zero_or_less", a.histogram->zero_or_less}};
  }
  return j;
}

std::string count_text(double n) { return pretty(AnyQuantity(n)); }

/// Exact also where a double is not: spaces reach 2^62 points.
Table::Cell index_cell(std::uint64_t index) {
  if (index < (std::uint64_t{1} << 53)) return static_cast<double>(index);
  return fmt::format("{}", index);
}

/// Counts in words; with `limits` also the points that each constraint excludes.
std::string footer_of(const ExploreAnswer& a, bool limits = true) {
  // Workers that share bounds look at other points each time, so that none are counted.
  if (a.evaluated == 0 && a.boxes == 0 && !a.method.empty())
    return fmt::format("{} points; {} (gap at most 1e-12)\n{}", count_text(a.total), name_of(a.exactness),
                       a.method);
  const bool all = a.evaluated == a.total;
  std::string out = fmt::format("{}{} points{}: {} feasible, {} not", all ? "all " : "", count_text(a.total),
                                all ? "" : fmt::format(", {} evaluated", count_text(a.evaluated)),
                                count_text(a.feasible), count_text(a.infeasible));
  if (a.not_finite > 0) out += fmt::format(", {} without a finite number", count_text(a.not_finite));
  if (a.skipped > 0) out += fmt::format(", {} skipped", count_text(a.skipped));
  out += fmt::format("; {}", name_of(a.exactness));
  if (a.exactness == Exactness::proven)
    out += fmt::format(" by {} boxes (gap at most 1e-12)", count_text(a.boxes));
  if (!a.method.empty()) out += "\n" + a.method;
  if (a.one_by_one)
    out += fmt::format("\none point after another: {} is not safe on several threads", a.title);
  if (const auto volume = a.relative_hypervolume())
    out += fmt::format(
        "\nhypervolume {:.4g} of the box from the best to the worst value of each objective on the front",
        *volume);
  if (!a.complete)
    out += fmt::format("; stopped after {} points: the answer holds for these", count_text(a.covered));
  for (const auto& [reason, points] : a.skip_reasons)
    out += fmt::format("\n{} skipped: {}", count_text(points), reason);
  for (const auto& warning : a.warnings) out += fmt::format("\nwarning: {}", warning);
  for (const auto& c : a.constraints)
    if (limits && c.violated > 0)
      out += fmt::format("\n'{}' excludes {}{}", c.text, count_text(c.violated),
                         c.relaxation.empty() ? "" : "; " + c.relaxation);
  if (a.histogram) {
    double most = 0;
    for (const auto& [bin, points] : a.histogram->bins) most = std::max(most, points);
    out += fmt::format("\n{} over feasible points:", a.histogram->text);
    for (const auto& [bin, points] : a.histogram->bins)
      out += fmt::format("\n  from {:>10}  {:>10}  {}",
                         pretty(AnyQuantity::from_base(std::exp2(bin / 4.0), a.histogram->exps), 3),
                         count_text(points), std::string(static_cast<std::size_t>(40 * points / most), '#'));
  }
  return out;
}

}  // namespace

Table points_table(const ExploreAnswer& a) {
  const auto& points = a.objectives.size() > 1 ? a.front : a.best;
  Table t{.schema = "mlsysim/exploration@1", .title = a.title, .columns = {{"index"}}};
  for (const auto& name : a.axes) t.columns.push_back({name});
  for (std::size_t k = 0; k < a.objectives.size(); ++k)
    t.columns.push_back({a.objectives[k].text, detail::display_unit(a.units[k], a.exps[k])});
  for (std::size_t k = 0; k < a.show.size(); ++k)
    t.columns.push_back({a.show[k], detail::display_unit(a.show_units[k], a.show_exps[k])});
  t.rows.reserve(points.size());
  for (const auto& p : points) {
    std::vector<Table::Cell> row;
    row.reserve(t.columns.size());
    row.push_back(index_cell(p.index));
    for (const auto& label : p.labels) row.emplace_back(label);
    for (std::size_t k = 0; k < p.objectives.size(); ++k) row.emplace_back(Value(p.objectives[k]), a.exps[k]);
    for (std::size_t k = 0; k < p.shown.size(); ++k) row.emplace_back(Value(p.shown[k]), a.show_exps[k]);
    t.rows.push_back(std::move(row));
  }
  t.footer = footer_of(a);
  return t;
}

std::string render(const ExploreAnswer& a, const RenderOptions& options) {
  if (options.format == OutputFormat::json) return detail::json_document(json_of(a));
  const bool one = a.objectives.size() == 1 && a.best.size() == 1 && !a.histogram;
  if (one && options.format == OutputFormat::text && options.verbosity == Verbosity::brief)
    return detail::brief_optimum(a) + footer_of(a, false) + "\n";
  if (options.format == OutputFormat::text && options.verbosity == Verbosity::brief && !a.histogram &&
      a.objectives.size() > 1 && !a.front.empty())
    return detail::brief_front(a) + footer_of(a) + "\n";
  return render(points_table(a), options);
}

}  // namespace mlsysim
