#include <mlsysim/validation/residuals.hpp>

#include <mlsysim/units/any_quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

/// A rate falls where a time grows.
bool is_rate(const Measurand& m) { return m.unit().find("/s") != std::string_view::npos; }

std::string advice_for(const std::string& term) {
  struct Known {
    std::string_view part, advice;
  };
  static constexpr Known known[] = {
      {"launch", "kernels start more slowly than assumed: capture graphs, or fuse small kernels"},
      {"network", "communication: protocol, congestion, or ranks that wait for each other"},
      {"parallel", "communication: protocol, congestion, or ranks that wait for each other"},
      {"exchange", "the gradient exchange hides less, or its network is slower, than assumed"},
      {"bubble", "stages of the pipeline are not equally long"},
      {"compute", "the sustained matrix rate differs: clocks, power limit, or shapes that suit the kernels badly"},
      {"memory", "the sustained memory bandwidth differs: access patterns, or kernels that are not fused"},
      {"wait", "requests wait in another way than assumed"},
      {"prompt", "prompts are processed in another way than assumed"}};
  for (const auto& k : known)
    if (term.find(k.part) != std::string::npos) return std::string(k.advice);
  return "this part of the model is off by a factor";
}

/// Times of a row relative to its prediction.
struct RelativeRow {
  double ratio;  ///< measured over predicted time
  std::vector<double> shares;
  double predicted;  ///< [s]
};

ErrorStatistics errors_with(const std::vector<RelativeRow>& rows, const std::vector<double>& x, double c, bool rate) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double time = std::max(1e-3, 1 + c * x[i]) / rows[i].ratio;  // predicted over measured time
    errors.push_back(rate ? 1 / time - 1 : time - 1);
  }
  return statistics_of(errors);
}

}  // namespace

ResidualAnalysis analyse_residuals(const MeasuredTable& table, const Zoo& zoo) {
  ResidualAnalysis out;
  const auto rows = rows_of(table, zoo);
  const Constants constants(conventions_of(zoo));
  const PredictionContext context{&zoo, &constants, Yardstick::operators, true};
  const bool rate = is_rate(*table.measurand);
  std::vector<std::string> names;
  std::vector<RelativeRow> relative;
  std::vector<double> errors;
  for (const auto& row : rows.rows) {
    auto p = predict(*table.measurand, row.inputs.get(), context);
    if (!p.answered() || !(p.base > 0)) continue;
    RelativeRow r{rate ? p.base / row.measured : row.measured / p.base, {}, 0};
    double sum = 0;
    for (const auto& t : p.terms) sum += t.name.ends_with("]") || t.name == "batch" ? 0 : t.base;
    r.predicted = sum > 0 ? sum : 1;
    for (const auto& t : p.terms) {
      if (t.name.ends_with("]") || t.name == "batch" || t.name == "busy share") continue;
      const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), t.name) - names.begin());
      if (at == names.size()) names.emplace_back(t.name);
      r.shares.resize(names.size(), 0.0);
      r.shares[at] = t.base / r.predicted;
    }
    relative.push_back(std::move(r));
    out.rows.push_back({row.row, table.label(row.row), row.group, row.measured, p.base, std::move(p.terms)});
    errors.push_back(out.rows.back().error());
  }
  if (relative.empty())
    throw InputError({.id = "mlsysim.validation.090", .message = "no row was predicted, so there is nothing to explain",
                      .key = table.name, .found = fmt::format("{} records", table.data.rows()), .expected = "rows with an answer",
                      .hint = "mlsysim validate shows why rows are left out"});
  out.before = statistics_of(errors);
  double whole = 0;
  for (const auto& r : relative) whole += (r.ratio - 1) * (r.ratio - 1);

  const auto explain = [&](std::string term, std::string advice, const std::vector<double>& x, bool fixed) {
    double xx = 0, xr = 0;
    for (std::size_t i = 0; i < x.size(); ++i) xx += x[i] * x[i], xr += x[i] * (relative[i].ratio - 1);
    if (xx <= 0) return;
    const double c = xr / xx;
    double rest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) rest += std::pow(relative[i].ratio - 1 - c * x[i], 2);
    out.explanations.push_back({std::move(term), std::move(advice), fixed ? c : 1 + c,
                                whole > 0 ? std::max(0.0, 1 - rest / whole) : 0, errors_with(relative, x, c, rate)});
  };
  const auto column = [&](auto&& value) {
    std::vector<double> x;
    for (const auto& r : relative) x.push_back(value(r));
    return x;
  };
  for (std::size_t k = 0; k < names.size(); ++k)
    explain(names[k], advice_for(names[k]), column([&](const RelativeRow& r) { return k < r.shares.size() ? r.shares[k] : 0.0; }), false);
  explain("everything", "all times are off by one factor: clocks, or another machine than stated", column([](const RelativeRow&) { return 1.0; }), false);
  explain("fixed time", "every measurement holds a time that the model does not know: the host, or the tool that measured",
          column([](const RelativeRow& r) { return 1 / r.predicted; }), true);
  std::stable_sort(out.explanations.begin(), out.explanations.end(), [](const auto& a, const auto& b) { return a.explained > b.explained; });
  return out;
}

MeasuredTable table_of_measurements(const std::filesystem::path& csv, const std::string& measurand_name) {
  MeasuredTable t;
  t.name = csv.filename().generic_string();
  t.title = "own measurements";
  t.file = csv;
  t.data = CsvTable::read(csv);
  t.measurand = &measurand(measurand_name);
  for (std::size_t c = 0; c < t.data.columns().size(); ++c) {
    const auto& name = t.data.columns()[c];
    if (name == "measured" || (name.starts_with("measured [") && name.ends_with("]"))) {
      const auto unit = name == "measured" ? std::string(t.measurand->unit()) : name.substr(10, name.size() - 11);
      const auto one = AnyQuantity::parse(unit.empty() ? "1" : "1 " + unit);
      const auto want = AnyQuantity::parse(t.measurand->unit().empty() ? "1" : fmt::format("1 {}", t.measurand->unit()));
      if (!(one.exponents() == want.exponents()))
        throw DimensionError({.id = "mlsysim.validation.091", .message = "the measured unit does not suit the measurand", .key = name,
                              .found = unit, .expected = fmt::format("a unit like {}", t.measurand->unit()), .where = {t.data.file(), 1, 0}});
      t.measured = ColumnExpression::of_column(t.data, c);
      t.unit_factor = one.base();
    } else if (const FieldInfo* f = find_field(t.measurand->inputs(), name)) {
      InputRule rule{.field = f};
      if (f->kind == ValueKind::number || f->kind == ValueKind::quantity) rule.expression = ColumnExpression::of_column(t.data, c);
      else rule.column = c;
      t.inputs.push_back(std::move(rule));
      t.labels.push_back(c);
    } else {
      t.labels.push_back(c);
    }
  }
  std::vector<std::string> missing;
  if (!t.measured) missing.emplace_back("measured");
  for (const auto& f : t.measurand->inputs())
    if (f.required && std::none_of(t.inputs.begin(), t.inputs.end(), [&](const InputRule& r) { return r.field == &f; })) missing.push_back(f.name);
  if (missing.empty()) return t;
  std::vector<std::string> inputs;
  for (const auto& f : t.measurand->inputs()) inputs.push_back(f.name);
  throw InputError({.id = "mlsysim.validation.092", .message = fmt::format("{} lacks columns that '{}' needs", t.data.file(), measurand_name),
                    .key = missing.front(), .found = fmt::format("the columns {}", fmt::join(t.data.columns(), ", ")),
                    .expected = fmt::format("the columns {}", fmt::join(missing, ", ")),
                    .hint = fmt::format("columns are named like inputs ({}) and 'measured' or 'measured [unit]'", fmt::join(inputs, ", ")),
                    .where = {t.data.file(), 1, 1}});
}

}  // namespace mlsysim
