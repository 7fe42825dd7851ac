#include <mlsysim/explore/ask/compare.hpp>
#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/explore/ask/solve.hpp>
#include <mlsysim/report/explore_report.hpp>

#include "detail/brief_explore.hpp"
#include "detail/json_value.hpp"

#include <mlsysim/resolver_api/field_text.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <cmath>

namespace mlsysim {
namespace {

using detail::Json;

constexpr double kWorthALine = 1e-4;  // a smaller effect is summed up in brief tables

std::string change_text(const SensitivityReport& r, double change) {
  if (std::isnan(change)) return "no result";
  if (std::isinf(change)) return "infinite";
  return (change > 0 ? "+" : "") + r.change_text(change, 3);
}

constexpr std::string_view kSlopes[] = {"smooth", "kink", "step"};

std::string elasticity_text(const Lever& l) {
  if (l.counted) return "count";
  if (l.slope == Slope::kink) return fmt::format("{:.3g} / {:.3g}", l.elasticity_down, l.elasticity_up);
  if (l.slope == Slope::step && !l.elasticity) return "steps";
  return l.elasticity ? fmt::format("{:.3g}", *l.elasticity) : "0";
}

Json json_of(const SensitivityReport& r) {
  Json levers = Json::array();
  for (const auto& l : r.levers) {
    const auto shown = [&](double x) { return detail::json_value(x, l.exps, std::string(l.unit)); };
    levers.push_back({{"input", l.input},
                      {"meaning", l.meaning},
                      {"unit", l.unit},
                      {"value", shown(l.value)},
                      {"slope", kSlopes[static_cast<std::size_t>(l.slope)]},
                      {"elasticity", l.elasticity ? detail::json_number(*l.elasticity) : Json(nullptr)},
                      {"elasticity_up", detail::json_number(l.elasticity_up)},
                      {"elasticity_down", detail::json_number(l.elasticity_down)},
                      {"price_base_units", l.price ? detail::json_number(*l.price) : Json(nullptr)},
                      {"lower", shown(l.lower)},
                      {"upper", shown(l.upper)},
                      {"at_lower", detail::json_number(l.at_lower)},
                      {"at_upper", detail::json_number(l.at_upper)},
                      {"ceiling", detail::json_number(l.ceiling)},
                      {"matters_at", l.matters_at ? shown(*l.matters_at) : Json(nullptr)},
                      {"words", l.words}});
  }
  Json assumptions = Json::array();
  for (const auto& a : r.assumptions)
    assumptions.push_back({{"name", a.name.view()}, {"value", a.value.str()}, {"source", a.source.view()}});
  return {{"schema", "mlsysim/sensitivity@1"},
          {"subject", r.subject},
          {"result", r.result},
          {"unit", r.unit},
          {"value", detail::json_value(r.value, r.exps, std::string(r.unit))},
          {"method", describe_method(r.method)},
          {"step", r.step},
          {"binding", r.binding},
          {"levers", levers},
          {"assumptions", assumptions},
          {"warnings", r.warnings}};
}

}  // namespace

std::string render(const SensitivityReport& r, const RenderOptions& options) {
  if (options.format == OutputFormat::json) return detail::json_document(json_of(r));
  if (options.format == OutputFormat::text && options.verbosity == Verbosity::brief)
    return detail::brief_sensitivity(r);
  FieldInfo result;
  result.kind = r.exps.dimensionless() ? ValueKind::number : ValueKind::quantity;
  result.exps = r.exps;
  result.unit = r.unit;
  Table t{.schema = "mlsysim/sensitivity@1",
          .title = fmt::format("{}: {} = {} ({})", r.subject, r.result,
                               field_text(result, r.value, options.digits), r.meaning),
          .columns = {{"input"},
                      {"value"},
                      {"elasticity", "", "relative change per relative change"},
                      {fmt::format("-{:g} %", 100 * r.step)},
                      {fmt::format("+{:g} %", 100 * r.step)},
                      {"in words"}}};
  const bool numbers = options.format == OutputFormat::csv;
  if (numbers)
    t.columns = {
        {"input"},         {"unit"},     {"value"},    {"slope"},   {"elasticity"}, {"elasticity_down"},
        {"elasticity_up"}, {"at_lower"}, {"at_upper"}, {"ceiling"}, {"words"}};
  std::size_t quiet = 0;
  for (const auto& l : r.levers) {
    const AnyQuantity value = AnyQuantity::from_base(l.value, l.exps);
    if (numbers) {
      const Table::Cell elasticity = l.elasticity ? Table::Cell(*l.elasticity) : Table::Cell();
      t.rows.push_back({l.input, l.unit, l.unit.empty() ? l.value : value.in(l.unit),
                        kSlopes[static_cast<std::size_t>(l.slope)], elasticity, l.elasticity_down,
                        l.elasticity_up, l.at_lower, l.at_upper, l.ceiling, l.words});
      continue;
    }
    if (options.verbosity == Verbosity::brief && l.reach() < kWorthALine && !l.matters_at &&
        std::isfinite(l.at_lower + l.at_upper) && (!l.price || *l.price == 0 || l.value != 0)) {
      ++quiet;
      continue;
    }
    FieldInfo in;
    in.kind = l.exps.dimensionless() ? ValueKind::number : ValueKind::quantity;
    in.exps = l.exps;
    in.unit = l.unit;
    t.rows.push_back({l.input, field_text(in, l.value, options.digits), elasticity_text(l),
                      change_text(r, l.at_lower), change_text(r, l.at_upper), l.words});
  }
  if (!r.binding.empty()) t.footer = r.binding;
  if (quiet > 0)
    t.footer += fmt::format("{}{} more inputs have no effect, whatever their value (--verbose lists them).",
                            t.footer.empty() ? "" : ".\n", quiet);
  if (r.method != Method::exact)
    t.footer += fmt::format("{}Slopes by {}.", t.footer.empty() ? "" : "\n", describe_method(r.method));
  const auto text = render(t, options);
  return options.format == OutputFormat::text ? t.title + "\n\n" + text : text;
}

std::string render(const SolveAnswer& a, const RenderOptions& options) {
  const auto number = [](const FieldInfo& f, double x) {
    return detail::json_value(x, f.exps, std::string(f.unit));
  };
  if (options.format == OutputFormat::json) {
    Json solutions = Json::array();
    for (const auto& s : a.inversion.solutions)
      solutions.push_back({{"low", number(a.input, s.low)},
                           {"high", number(a.input, s.high)},
                           {"result", number(a.result, s.value)},
                           {"jump", s.jump},
                           {"residual", s.residual}});
    Json j({{"schema", "mlsysim/solve@1"},
            {"subject", a.subject},
            {"feasible", true},
            {"condition", a.condition},
            {"free", a.free},
            {"unit", a.input.unit},
            {"value", number(a.input, a.value)},
            {"result", a.result.name},
            {"result_unit", a.result.unit},
            {"at_value", number(a.result, a.at_value)},
            {"solutions", solutions},
            {"searched", {number(a.input, a.inversion.low), number(a.input, a.inversion.high)}},
            {"exhaustive", a.inversion.exhaustive},
            {"evaluations", a.inversion.evaluations},
            {"method", describe_method(a.inversion.method)},
            {"verification", a.check_text()}});
    if (!a.memory.empty()) j["memory"] = a.memory;
    return detail::json_document(j);
  }
  if (options.format == OutputFormat::text)
    return options.verbosity == Verbosity::brief
               ? detail::brief_solve(a)
               : fmt::format("{}: {}\n{}", a.subject, a.condition, a.text());
  const std::string in(a.input.unit), out(a.result.unit);
  Table t{.schema = "mlsysim/solve@1",
          .title = fmt::format("{}: {}", a.subject, a.condition),
          .columns = {{a.free, in, "the answer"},
                      {a.result.name, out, "at the answer"},
                      {a.free + " from", in},
                      {a.free + " to", in},
                      {a.result.name + " from", out, "at the lower end"},
                      {"residual"}}};
  for (const auto& s : a.inversion.solutions) {
    // The answer is an end of one of the ranges, or where memory ends inside it.
    const bool here = !s.jump && a.value >= s.low && a.value <= s.high;
    t.rows.push_back({here ? Table::Cell(Value(a.value), a.input.exps) : Table::Cell(),
                      here ? Table::Cell(Value(a.at_value), a.result.exps) : Table::Cell(),
                      Table::Cell(Value(s.low), a.input.exps), Table::Cell(Value(s.high), a.input.exps),
                      Table::Cell(Value(s.value), a.result.exps), s.residual});
  }
  return render(t, options);
}

std::string render(const DifferenceReport& r, const RenderOptions& options, const NumberInterval* from,
                   const NumberInterval* to) {
  const std::string unit = r.unit.empty() ? canonical_unit(r.exps) : std::string(r.unit);
  if (options.format == OutputFormat::json) {
    Json terms = Json::array();
    for (const auto& d : r.terms) {
      const std::string own(d.unit);
      terms.push_back({{"input", d.input},
                       {"meaning", d.meaning},
                       {"unit", d.unit},
                       {"from", detail::json_value(d.from, d.exps, own)},
                       {"to", detail::json_value(d.to, d.exps, own)},
                       {"part", detail::json_value(d.part, r.exps, unit)},
                       {"share", detail::json_number(d.share)}});
    }
    return detail::json_document(detail::Json({{"schema", "mlsysim/difference@1"},
                                               {"from", r.from},
                                               {"to", r.to},
                                               {"result", r.result},
                                               {"unit", unit},
                                               {"at_from", detail::json_value(r.at_from, r.exps, unit)},
                                               {"at_to", detail::json_value(r.at_to, r.exps, unit)},
                                               {"exact", r.exact},
                                               {"terms", terms}}));
  }
  if (options.format == OutputFormat::text && options.verbosity == Verbosity::brief)
    return detail::brief_difference(r, from, to);
  const auto shown = [&](double x) { return AnyQuantity::from_base(x, r.exps); };
  Table t{.schema = "mlsysim/difference@1",
          .title = fmt::format("{}: {} against {}", r.result, r.from, r.to),
          .columns = {{"figure"}, {"from"}, {"to"}, {"part", unit}, {"share", "", "of the difference"}}};
  std::size_t quiet = 0;
  for (const auto& d : r.terms) {
    if (d.part == 0 && options.verbosity == Verbosity::brief && options.format != OutputFormat::csv) {
      ++quiet;
      continue;
    }
    FieldInfo in;
    in.kind = d.exps.dimensionless() ? ValueKind::number : ValueKind::quantity;
    in.exps = d.exps;
    in.unit = d.unit;
    const bool number = d.input != "structure";
    t.rows.push_back({d.input, number ? field_text(in, d.from, options.digits) : std::string(),
                      number ? field_text(in, d.to, options.digits) : std::string(), shown(d.part), d.share});
  }
  t.footer = fmt::format("{} {} against {}: the parts add up to {}{}", r.result,
                         pretty(shown(r.at_from), options.digits), pretty(shown(r.at_to), options.digits),
                         pretty(shown(r.at_to - r.at_from), options.digits),
                         r.exact ? "" : " (mean over a fixed sample of orders)");
  if (quiet > 0)
    t.footer += fmt::format(".\n{} more figures differ and change nothing (--verbose lists them).", quiet);
  const auto text = render(t, options);
  return options.format == OutputFormat::text ? t.title + "\n\n" + text : text;
}

std::string render(const Infeasible& why, const RenderOptions& options) {
  if (options.format == OutputFormat::json) {
    Json facts = Json::object();
    for (const auto& f : why.facts) facts[f.name] = f.value;
    return detail::json_document(detail::Json({{"schema", "mlsysim/infeasible@1"},
                                               {"feasible", false},
                                               {"reason", why.reason},
                                               {"smallest_change", why.smallest_change},
                                               {"facts", facts}}));
  }
  Table t{.schema = "mlsysim/infeasible@1", .title = "no solution", .columns = {{"what"}, {"value"}}};
  t.rows.push_back({"reason", why.reason});
  if (!why.smallest_change.empty()) t.rows.push_back({"smallest change", why.smallest_change});
  for (const auto& f : why.facts) t.rows.push_back({f.name, f.value});
  return render(t, options);
}

}  // namespace mlsysim
