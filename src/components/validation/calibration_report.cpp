#include <mlsysim/validation/calibration_report.hpp>

#include "detail/result_text.hpp"

#include <mlsysim/report/table.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/validation/measure_points.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace mlsysim {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kStrong = 0.8;  // correlation above which two constants cannot be separated well

double unit_base(const FreeConstant& c) {
  return c.unit.empty() ? 1.0 : AnyQuantity::parse(fmt::format("1 {}", c.unit)).base();
}

std::string state_of(const FittedConstant& c) {
  if (!c.identified) return c.why.empty() ? "kept" : "kept: " + c.why;
  return c.at_bound ? "fitted, at its bound" : "fitted";
}

double correlation(const Calibration& fit, std::size_t i, std::size_t j) {
  const auto n = fit.constants.size();
  return fit.covariance[i * n + j] / std::sqrt(fit.covariance[i * n + i] * fit.covariance[j * n + j]);
}

Table table_of(const Calibration& fit) {
  Table t{.schema = "mlsysim/calibration@1",
          .title = fmt::format("constants of the {} {}", fit.what, fit.name)};
  t.columns = {{"constant"}, {"unit"}, {"prior"},    {"before"}, {"value"},
               {"p10"},      {"p90"},  {"of prior"}, {"state"}};
  for (const auto& c : fit.constants) {
    const double one = unit_base(c.constant);
    t.rows.push_back({c.constant.field, c.constant.unit, c.constant.prior / one, c.constant.start / one,
                      c.value / one, c.p10() / one, c.p90() / one, fmt::format("{:.2f}", c.of_prior()),
                      state_of(c)});
  }
  return t;
}

Json errors_json(const ErrorStatistics& e) {
  if (e.rows == 0) return nullptr;
  return {{"rows", e.rows}, {"median", e.median}, {"mean", e.mean},
          {"p90", e.p90},   {"max", e.max},       {"bias", e.bias}};
}

constexpr std::size_t kMostPoints = 3;

/// Points of `mlsysim measure` that would identify a constant of a device; none for one that is identified.
std::vector<std::string> points_for(const Calibration& fit, const FittedConstant& c) {
  std::vector<std::string> out;
  if (c.identified || fit.what != "device") return out;
  const auto* plan = installed_measure_plan();
  if (plan == nullptr) return out;
  for (const auto* p : plan->points_for(c.constant.field))
    if (out.size() < kMostPoints) out.push_back(p->name);
  return out;
}

/// Lists the constants that are not identified, with points of `mlsysim measure` that would identify them.
std::string points_text(const Calibration& fit) {
  std::string out;
  for (const auto& c : fit.constants)
    if (const auto points = points_for(fit, c); !points.empty())
      out += fmt::format("  {}: measure {}\n", c.constant.field, fmt::join(points, "; "));
  return out.empty() ? out : "points of `mlsysim measure` that identify what was kept:\n" + out;
}

std::string bias_text(const Calibration& fit) {
  std::string out;
  for (const auto& [name, t] : fit.scatter)
    if (t.biased())
      out += fmt::format(
          "  {}: a bias of {} that no constant explains: the law is off, or a constant is missing\n", name,
          detail::percent(std::exp(t.center) - 1, true));
  return out;
}

std::string systems_text(const Calibration& fit) {
  std::string out;
  for (const auto& s : fit.systems)
    if (s.worse())
      out += fmt::format("  {}: median error {} -> {} ({} rows), at most {} allowed\n", s.table,
                         detail::percent(s.before), detail::percent(s.after), s.rows,
                         detail::percent(s.before + s.allowed));
  if (fit.systems.empty()) return out;
  if (out.empty())
    return fmt::format("no table of whole systems gets worse ({} compared)\n", fit.systems.size());
  return "tables of whole systems get worse:\n" + out +
         (fit.harmless.empty() ? std::string("  each of the constants alone makes one of them worse\n")
                               : fmt::format("  no table gets worse with one of these alone: {}\n",
                                             fmt::join(fit.harmless, ", ")));
}

std::string json_of(const Calibration& fit) {
  Json constants = Json::array(), unanswered = Json::array(), covariance = Json::array(),
       groups = Json::array(), domain = Json::object(), scatter = Json::object(), systems = Json::array();
  const auto n = fit.constants.size();
  for (std::size_t i = 0; i < n; ++i) {
    const auto& c = fit.constants[i];
    const double one = unit_base(c.constant);
    constants.push_back({{"field", c.constant.field},
                         {"unit", c.constant.unit},
                         {"prior", c.constant.prior / one},
                         {"prior_spread", c.constant.prior_spread},
                         {"before", c.constant.start / one},
                         {"value", c.value / one},
                         {"spread", c.spread},
                         {"p10", c.p10() / one},
                         {"p90", c.p90() / one},
                         {"low", c.constant.low / one},
                         {"high", c.constant.high / one},
                         {"identified", c.identified},
                         {"of_prior", c.of_prior()},
                         {"why", c.why},
                         {"points", points_for(fit, c)},
                         {"at_bound", c.at_bound}});
    Json row = Json::array();
    for (std::size_t j = 0; j < n; ++j) row.push_back(fit.covariance[i * n + j]);
    covariance.push_back(row);
  }
  for (const auto& g : fit.groups)
    groups.push_back(
        {{"group", g.group}, {"in_sample", errors_json(g.in_sample)}, {"left_out", errors_json(g.left_out)}});
  for (const auto& [name, t] : fit.scatter)
    scatter[name] = {{"center", t.center}, {"sigma", t.sigma}, {"rows", t.rows}, {"biased", t.biased()}};
  for (const auto& s : fit.systems)
    systems.push_back({{"table", s.table},
                       {"rows", s.rows},
                       {"before", s.before},
                       {"after", s.after},
                       {"allowed", s.allowed},
                       {"worse", s.worse()}});
  for (const auto& u : fit.unanswered) unanswered.push_back({{"reason", u.reason}, {"rows", u.rows}});
  for (const auto& [name, r] : fit.domain) domain[name] = {r.low, r.high};
  return detail::json_document(Json({{"schema", "mlsysim/calibration@1"},
                                     {fit.what, fit.name},
                                     {"tables", fit.tables},
                                     {"rows", fit.rows},
                                     {"fitted_rows", fit.fitted_rows},
                                     {"unanswered", unanswered},
                                     {"constants", constants},
                                     {"covariance_of_logarithms", covariance},
                                     {"noise", fit.noise},
                                     {"scatter", scatter},
                                     {"systems", systems},
                                     {"harmless", fit.harmless},
                                     {"before", errors_json(fit.before)},
                                     {"after", errors_json(fit.after)},
                                     {"left_out", errors_json(fit.left_out)},
                                     {"coverage_80", fit.coverage},
                                     {"coverage_50_left_out", fit.coverage_left_out(0.5)},
                                     {"coverage_80_left_out", fit.coverage_left_out()},
                                     {"coverage_95_left_out", fit.coverage_left_out(0.95)},
                                     {"groups", groups},
                                     {"domain", domain}}));
}

std::string errors_text(const char* what, const ErrorStatistics& e) {
  if (e.rows == 0) return {};
  return fmt::format("{:<28} {:>6} rows  median {:>6}  mean {:>6}  p90 {:>6}  bias {:>7}\n", what, e.rows,
                     detail::percent(e.median), detail::percent(e.mean), detail::percent(e.p90),
                     detail::percent(e.bias, true));
}

}  // namespace

std::string render(const Calibration& fit, const RenderOptions& options) {
  if (options.format == OutputFormat::json) return json_of(fit);
  std::string out = render(table_of(fit), options);
  if (options.format == OutputFormat::csv) return out;
  out += "\n" + errors_text("before", fit.before) + errors_text("after, same rows", fit.after) +
         errors_text("on groups left out", fit.left_out);
  out += fmt::format("80 % intervals hold {} of the rows", detail::percent(fit.coverage));
  out += fit.groups.empty()
             ? "\n"
             : fmt::format(", {} of those of groups left out\n", detail::percent(fit.coverage_left_out()));
  if (fit.fitted_rows < fit.rows)
    out += fmt::format("fitted to {} of {} rows, spread evenly\n", fit.fitted_rows, fit.rows);
  for (const auto& u : fit.unanswered)
    out += fmt::format("{} rows take no part, the library gives no answer: {}\n", u.rows, u.reason);
  if (fit.after.rows < fit.rows)
    out += fmt::format("{} rows have no answer with the fitted constants\n", fit.rows - fit.after.rows);
  if (!fit.groups.empty() && fit.left_out.rows < fit.rows)
    out += fmt::format("{} rows have no answer when their group is left out\n", fit.rows - fit.left_out.rows);
  out += bias_text(fit) + systems_text(fit);
  for (const auto& g : fit.groups)
    out += fmt::format("  {:<40} median {:>6} in the sample, {:>6} left out\n",
                       g.group.size() > 40 ? g.group.substr(0, 37) + "..." : g.group,
                       detail::percent(g.in_sample.median), detail::percent(g.left_out.median));
  for (std::size_t i = 0; i < fit.constants.size(); ++i)
    for (std::size_t j = i + 1; j < fit.constants.size(); ++j)
      if (const double r = correlation(fit, i, j); std::abs(r) > kStrong)
        out += fmt::format("  {} and {} move together (correlation {:+.2f})\n",
                           fit.constants[i].constant.field, fit.constants[j].constant.field, r);
  return out + points_text(fit);
}

}  // namespace mlsysim
