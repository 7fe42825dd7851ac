#include <mlsysim/explore/ask/uncertainty.hpp>
#include <mlsysim/report/explore_report.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include "detail/brief_explore.hpp"
#include "detail/json_value.hpp"

#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mlsysim {
namespace {

using detail::Json;

/// Figures with their share of the variance, the most important first.
std::string shares_text(std::span<const std::string> figures, std::span<const double> shares,
                        std::span<const double> importance) {
  constexpr double least = 0.005;  // of the variance: less is noise of the sample
  std::vector<std::size_t> order(figures.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return importance[a] > importance[b]; });
  std::string out;
  for (const std::size_t i : order)
    if (importance[i] > least)
      out += fmt::format("{}{} {:.2g}", out.empty() ? "" : ", ", figures[i], std::max(shares[i], 0.0));
  return out;
}

/// Exact numbers, each row in its own unit; two columns of shares for each figure.
std::string csv_of(const UncertaintyReport& r) {
  Table t{.schema = "mlsysim/uncertainty@1",
          .title = r.subject,
          .columns = {{"result"},
                      {"unit"},
                      {"value"},
                      {"low"},
                      {"median"},
                      {"high"},
                      {"mean"},
                      {"sd"},
                      {"linear_sd"},
                      {"bound_low"},
                      {"bound_high"}}};
  for (const auto& figure : r.figures) {
    t.columns.push_back({"first_order " + figure});
    t.columns.push_back({"total " + figure});
  }
  for (const auto& x : r.results) {
    const std::string unit = detail::display_unit(x.unit, x.exps);
    const auto number = [&](double base) {
      return Table::Cell(
          unit.empty() || !std::isfinite(base) ? base : AnyQuantity::from_base(base, x.exps).in(unit));
    };
    std::vector<Table::Cell> row{x.result,
                                 unit,
                                 number(x.value),
                                 number(x.low),
                                 number(x.median),
                                 number(x.high),
                                 number(x.mean),
                                 number(x.sd),
                                 number(x.linear_sd),
                                 x.bound_low ? number(*x.bound_low) : Table::Cell(),
                                 x.bound_high ? number(*x.bound_high) : Table::Cell()};
    for (std::size_t i = 0; i < r.figures.size(); ++i) {
      row.emplace_back(x.first[i]);
      row.emplace_back(x.total[i]);
    }
    t.rows.push_back(std::move(row));
  }
  return render(t, {.format = OutputFormat::csv});
}

Json json_of(const UncertaintyReport& r) {
  Json results = Json::array();
  for (const auto& x : r.results) {
    const std::string unit = detail::display_unit(x.unit, x.exps);
    const auto number = [&](double base) { return detail::json_value(base, x.exps, unit); };
    Json j{{"result", x.result},
           {"meaning", x.meaning},
           {"unit", unit},
           {"value", number(x.value)},
           {"linear_sd", number(x.linear_sd)},
           {"mean", number(x.mean)},
           {"sd", number(x.sd)},
           {"low", number(x.low)},
           {"median", number(x.median)},
           {"high", number(x.high)},
           {"first_order", x.first},
           {"total", x.total}};
    j["outer_bounds"] = x.bound_low ? Json{number(*x.bound_low), number(*x.bound_high)} : Json(nullptr);
    results.push_back(std::move(j));
  }
  Json j{{"schema", "mlsysim/uncertainty@1"},
         {"subject", r.subject},
         {"figures", r.figures},
         {"results", results},
         {"evaluations", r.evaluations},
         {"not_finite", r.not_finite},
         {"bottleneck", r.bottleneck},
         {"flips", r.flips},
         {"assumptions", Json::array()}};
  for (const auto& a : r.assumptions)
    j["assumptions"].push_back(
        {{"name", a.name.view()}, {"value", a.value.str()}, {"source", a.source.view()}});
  if (r.ranking)
    j["ranking"] = {{"other", r.ranking->other},
                    {"result", r.ranking->result},
                    {"probability_below", r.ranking->below},
                    {"flips", r.ranking->flips}};
  return j;
}

}  // namespace

std::string render(const UncertaintyReport& r, const RenderOptions& options) {
  if (options.format == OutputFormat::json) return detail::json_document(json_of(r));
  if (options.format == OutputFormat::csv) return csv_of(r);
  if (options.format == OutputFormat::text && options.verbosity == Verbosity::brief)
    return detail::brief_uncertainty(r);
  Table t{.schema = "mlsysim/uncertainty@1",
          .title = r.subject,
          .columns = {{"result"},
                      {"value"},
                      {"low"},
                      {"median"},
                      {"high"},
                      {"sd"},
                      {"linear sd"},
                      {"outer bounds"},
                      {"made by (total Sobol' index)"},
                      {"alone (first order)"}}};
  for (const auto& x : r.results) {
    const std::string unit = detail::display_unit(x.unit, x.exps);
    const auto shown = [&](double base) {
      const auto q = AnyQuantity::from_base(base, x.exps);
      return unit.empty() || !std::isfinite(base) ? pretty(base, options.digits)
                                                  : pretty(q, unit, options.digits);
    };
    const std::string bounds =
        x.bound_low ? fmt::format("{} .. {}", shown(*x.bound_low), shown(*x.bound_high)) : "none known";
    t.rows.push_back({x.result, shown(x.value), shown(x.low), shown(x.median), shown(x.high), shown(x.sd),
                      shown(x.linear_sd), bounds, shares_text(r.figures, x.total, x.total),
                      shares_text(r.figures, x.first, x.total)});
  }
  t.footer = fmt::format("{} evaluations", r.evaluations);
  if (!r.bottleneck.empty())
    t.footer += fmt::format("; {} is the longest part, another one in {:.3g} % of the samples", r.bottleneck,
                            100 * r.flips);
  if (r.ranking)
    t.footer += fmt::format(
        "\n{} stays below that of {} with probability {:.4g}; the order flips in {:.3g} % of the samples",
        r.ranking->result, r.ranking->other, r.ranking->below, 100 * r.ranking->flips);
  for (const auto& a : r.assumptions)
    t.footer += fmt::format("\n{}: {} ({})", a.name.view(), a.value.str(), a.source.view());
  if (r.not_finite > 0)
    t.footer += fmt::format("; {} samples without a finite number left out", r.not_finite);
  return render(t, options);
}

}  // namespace mlsysim
