#include <mlsysim/report/interval_report.hpp>

#include "detail/human.hpp"
#include "detail/json_value.hpp"

#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/reflect/label.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

namespace mlsysim {
namespace {

using detail::Json;

constexpr const char* kNotMeasured = "no table measures such a number";

std::string basis_of(const NumberInterval& i) { return i.model ? i.model->basis : std::string(kNotMeasured); }

/// "-3 % .. +12 %": where factors lie from one.
std::string moved(double low, double high) {
  if (low == 1 && high == 1) return "none";
  return fmt::format("{:+.2g} % .. {:+.2g} %", 100 * (low - 1), 100 * (high - 1));
}

Json json_of(std::span<const NumberInterval> intervals) {
  Json out = Json::object();
  for (const auto& i : intervals) {
    const std::string unit = detail::display_unit(i.unit, i.exps);
    const auto number = [&](double base) { return detail::json_value(base, i.exps, unit); };
    Json one{{"level", i.level},         {"unit", unit},
             {"value", number(i.value)}, {"lower", number(i.lower)},
             {"upper", number(i.upper)}, {"zoo_ranges", {number(i.input_lower), number(i.input_upper)}},
             {"model_error", nullptr},   {"basis", basis_of(i)}};
    if (i.model) one["model_error"] = {number(i.value * i.model->low), number(i.value * i.model->high)};
    out[i.result] = std::move(one);
  }
  return out;
}

std::string csv_of(std::span<const NumberInterval> intervals) {
  Table t{.schema = "mlsysim/intervals@1",
          .title = "intervals",
          .columns = {{"result"},
                      {"unit"},
                      {"level"},
                      {"value"},
                      {"lower"},
                      {"upper"},
                      {"zoo_lower"},
                      {"zoo_upper"},
                      {"model_lower"},
                      {"model_upper"},
                      {"basis"}}};
  for (const auto& i : intervals) {
    const std::string unit = detail::display_unit(i.unit, i.exps);
    const auto number = [&](double base) {
      return Table::Cell(unit.empty() ? base : AnyQuantity::from_base(base, i.exps).in(unit));
    };
    t.rows.push_back({i.result, unit, static_cast<double>(i.level), number(i.value), number(i.lower),
                      number(i.upper), number(i.input_lower), number(i.input_upper),
                      i.model ? number(i.value * i.model->low) : Table::Cell(),
                      i.model ? number(i.value * i.model->high) : Table::Cell(), basis_of(i)});
  }
  return render(t, {.format = OutputFormat::csv});
}

Table table_of(std::span<const NumberInterval> intervals) {
  Table t{.schema = "mlsysim/intervals@1",
          .title = intervals.empty() ? std::string("intervals")
                                     : fmt::format("{} % intervals", intervals.front().level),
          .columns = {{"result"},
                      {"value"},
                      {"lower"},
                      {"upper"},
                      {"by ranges of the zoo"},
                      {"by error of the model"},
                      {"which rests on"}}};
  t.footer =
      "Steps: another device of the same generation 1, of another one 2; another release 1, other software "
      "2; "
      "another model 1; another kind of link 1; a device with or without measured kernels 1.";
  for (const auto& i : intervals) {
    const std::string unit = detail::display_unit(i.unit, i.exps);
    const auto shown = [&](double base) {
      return unit.empty() ? pretty(base, 4) : pretty(AnyQuantity::from_base(base, i.exps), unit, 4);
    };
    t.rows.push_back({i.result, shown(i.value), shown(i.lower), shown(i.upper),
                      moved(i.input_lower / i.value, i.input_upper / i.value),
                      i.model ? moved(i.model->low, i.model->high) : std::string("not known"), basis_of(i)});
  }
  return t;
}

/// The label of a result, also of a side or a point: "first.itl" is "first: per token (ITL)".
std::string result_words(std::string_view result) {
  const auto dot = result.find('.');
  if (dot == std::string_view::npos) return label_of(result);
  return fmt::format("{}: {}", result.substr(0, dot), label_of(result.substr(dot + 1)));
}

Table brief_table_of(std::span<const NumberInterval> intervals) {
  Table t{.schema = "mlsysim/intervals@1",
          .title = "intervals",
          .columns = {{"result"},
                      {"value"},
                      {intervals.empty() ? "range" : fmt::format("{} % range", intervals.front().level)},
                      {"by ranges of the zoo"},
                      {"by error of the model"},
                      {"rests on"}}};
  for (const auto& i : intervals)
    t.rows.push_back({result_words(i.result), detail::human(i.value, i.exps),
                      detail::human_range(i.lower, i.upper, i.exps),
                      moved(i.input_lower / i.value, i.input_upper / i.value),
                      i.model ? moved(i.model->low, i.model->high) : std::string("not known"),
                      basis_of(i).substr(0, basis_of(i).find(", and farther"))});
  return t;
}

const auto table_for = [](std::span<const NumberInterval> intervals, const RenderOptions& options) {
  return options.format == OutputFormat::text && options.verbosity == Verbosity::brief
             ? brief_table_of(intervals)
             : table_of(intervals);
};

}  // namespace

std::string render(std::span<const NumberInterval> intervals, const RenderOptions& options) {
  if (options.format == OutputFormat::json)
    return detail::json_document(
        detail::Json({{"schema", "mlsysim/intervals@1"}, {"intervals", json_of(intervals)}}));
  if (options.format == OutputFormat::csv) return csv_of(intervals);
  return render(table_for(intervals, options), options);
}

std::string with_intervals(std::string report, std::span<const NumberInterval> intervals,
                           const RenderOptions& options) {
  switch (options.format) {
    case OutputFormat::json: {
      auto whole = Json::parse(report);
      whole["intervals"] = json_of(intervals);
      return detail::json_document(whole);
    }
    case OutputFormat::csv:
      return csv_of(intervals);
    case OutputFormat::text:
    case OutputFormat::markdown:
      break;
  }
  return std::move(report) + "\n" + render(table_for(intervals, options), options);
}

}  // namespace mlsysim
