#include <mlsysim/validation/residuals.hpp>

#include "detail/definition_reader.hpp"

#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace mlsysim {
namespace {

constexpr std::string_view kOffByFactor = "this part of the model is off by a factor";

/// The likely cause when one term of a time or rate is wrong.
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
      {"compute",
       "the sustained matrix rate differs: clocks, power limit, or shapes that suit the kernels badly"},
      {"memory", "the sustained memory bandwidth differs: access patterns, or kernels that are not fused"},
      {"wait", "requests wait in another way than assumed"},
      {"prompt", "prompts are processed in another way than assumed"}};
  for (const auto& k : known)
    if (term.find(k.part) != std::string::npos) return std::string(k.advice);
  return std::string(kOffByFactor);
}

/// A row relative to its prediction. "Whole" is the predicted value, or the time behind a rate.
struct RelativeRow {
  double ratio;                ///< measured over predicted whole
  std::vector<double> shares;  ///< of the whole, by term
  double whole;                ///< base unit; 0 where it is not known
};

ErrorStatistics errors_with(const std::vector<RelativeRow>& rows, const std::vector<double>& x, double c,
                            bool rate) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double whole = std::max(1e-3, 1 + c * x[i]) / rows[i].ratio;  // predicted over measured
    errors.push_back(rate ? 1 / whole - 1 : whole - 1);
  }
  return statistics_of(errors);
}

/// The prediction of a row in parts, as shares of its whole. `names` gets the terms not seen before.
RelativeRow relative_row(const Prediction& p, double measured, bool rate, std::vector<std::string>& names) {
  RelativeRow r{rate ? p.base / measured : measured / p.base, {}, p.base};
  if (rate) {
    r.whole = 0;
    for (const auto& t : p.terms)
      if (t.role == TermRole::part) r.whole += t.base;
  }
  for (const auto& t : p.terms) {
    if (t.role == TermRole::fact || !(r.whole > 0)) continue;
    const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), t.name) - names.begin());
    if (at == names.size()) names.emplace_back(t.name);
    r.shares.resize(names.size(), 0.0);
    r.shares[at] = t.base / r.whole;
  }
  return r;
}

/// Inputs that the table does not state, with the source of their defaults.
std::vector<std::string> defaulted_inputs(const MeasuredTable& table) {
  std::vector<std::string> out;
  for (const auto& f : table.measurand->inputs())
    if (std::ranges::none_of(table.inputs, [&](const InputRule& r) { return r.field == &f; }))
      out.push_back(f.default_source.empty() ? f.name + " (not stated)"
                                             : fmt::format("{} ({})", f.name, f.default_source));
  return out;
}

/// How much of the differences each term explains when it alone is scaled, or a fixed time added.
class Explanations {
 public:
  Explanations(const std::vector<RelativeRow>& rows, MeasurandKind kind)
      : rows_(rows), rate_(kind == MeasurandKind::rate), timed_(kind != MeasurandKind::other) {
    for (const auto& r : rows) whole_ += (r.ratio - 1) * (r.ratio - 1);
  }

  /// The best first.
  std::vector<ResidualCause> all(const std::vector<std::string>& names) {
    for (std::size_t k = 0; k < names.size(); ++k)
      add(names[k], timed_ ? advice_for(names[k]) : std::string(kOffByFactor),
          column([&](const RelativeRow& r) { return k < r.shares.size() ? r.shares[k] : 0.0; }),
          Change::factor);
    add("everything",
        timed_ ? "all times are off by one factor: clocks, or another machine than stated"
               : "all values are off by one factor",
        column([](const RelativeRow&) { return 1.0; }), Change::factor);
    if (timed_ && std::ranges::all_of(rows_, [](const RelativeRow& r) { return r.whole > 0; }))
      add("fixed time",
          "every measurement holds a time that the model does not know: the host, or the tool that measured",
          column([](const RelativeRow& r) { return 1 / r.whole; }), Change::fixed);
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& a, const auto& b) { return a.explained > b.explained; });
    return std::move(found_);
  }

 private:
  enum class Change : std::uint8_t { factor, fixed };

  template <class Value> [[nodiscard]] std::vector<double> column(Value&& value) const {
    std::vector<double> x;
    for (const auto& r : rows_) x.push_back(value(r));
    return x;
  }

  /// Least squares of the relative differences over `x`.
  void add(std::string term, std::string advice, const std::vector<double>& x, Change change) {
    double xx = 0, xr = 0;
    for (std::size_t i = 0; i < x.size(); ++i) xx += x[i] * x[i], xr += x[i] * (rows_[i].ratio - 1);
    if (xx <= 0) return;
    const double c = xr / xx;
    double rest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) rest += std::pow(rows_[i].ratio - 1 - c * x[i], 2);
    found_.push_back({std::move(term), std::move(advice), change == Change::fixed ? c : 1 + c,
                      whole_ > 0 ? std::max(0.0, 1 - rest / whole_) : 0, errors_with(rows_, x, c, rate_)});
  }

  const std::vector<RelativeRow>& rows_;
  bool rate_, timed_;
  double whole_ = 0;  ///< sum of the squared differences
  std::vector<ResidualCause> found_;
};

}  // namespace

ResidualAnalysis analyse_residuals(const MeasuredTable& table, const Zoo& zoo) {
  if (table.measurand == nullptr)
    throw InputError({.id = "mlsysim.validation.093",
                      .message = "the table is kept without being compared",
                      .key = table.name,
                      .found = table.unpredicted,
                      .expected = "a table with a measurand",
                      .hint = "mlsysim validate --list shows what each table measures",
                      .where = {.file = table.file.generic_string()}});
  ResidualAnalysis out;
  const auto rows = rows_of(table, zoo);
  const Constants constants(conventions_of(zoo));
  const PredictionContext context{&zoo, &constants, Yardstick::operators, true};
  const MeasurandKind kind = table.measurand->kind();
  out.defaulted = defaulted_inputs(table);
  std::vector<std::string> names;
  std::vector<RelativeRow> relative;
  std::vector<double> errors;
  for (const auto& row : rows.rows) {
    auto p = predict(*table.measurand, row.inputs.get(), context);
    if (!p.answered() || !(p.base > 0)) continue;
    relative.push_back(relative_row(p, row.measured, kind == MeasurandKind::rate, names));
    out.rows.push_back({row.row, table.label(row.row), row.group, row.measured, p.base, std::move(p.terms)});
    errors.push_back(out.rows.back().error());
  }
  if (relative.empty())
    throw InputError({.id = "mlsysim.validation.090",
                      .message = "no row was predicted, so there is nothing to explain",
                      .key = table.name,
                      .found = fmt::format("{} records", table.data.rows()),
                      .expected = "rows with an answer",
                      .hint = "mlsysim validate shows why rows are left out"});
  out.before = statistics_of(errors);
  out.explanations = Explanations(relative, kind).all(names);
  return out;
}

MeasuredTable table_of_measurements(const std::filesystem::path& csv, const std::string& measurand_name) {
  MeasuredTable t;
  t.name = csv.filename().generic_string();
  t.title = "own measurements";
  t.file = csv;
  t.data = CsvTable::read(csv);
  t.measurand = &measurand(measurand_name);
  std::vector<std::string> known{"measured"};
  for (const auto& f : t.measurand->inputs()) known.push_back(f.name);
  for (std::size_t c = 0; c < t.data.columns().size(); ++c) {
    const auto& name = t.data.columns()[c];
    const Location where{.file = t.data.file(), .line = 1};
    if (name == "measured" || (name.starts_with("measured [") && name.ends_with("]"))) {
      if (t.measured)
        throw InputError({.id = "mlsysim.validation.094",
                          .message = fmt::format("{} holds two measured columns", t.data.file()),
                          .key = name,
                          .found = fmt::format("'{}' and '{}'", t.measured->text(), name),
                          .expected = "one of them",
                          .hint = "name the other one 'label ...' to keep it as a label",
                          .where = where});
      t.unit_factor = detail::unit_factor(
          *t.measurand,
          name == "measured" ? t.measurand->unit() : std::string_view(name).substr(10, name.size() - 11),
          name, where);
      t.measured = ColumnExpression::of_column(t.data, c);
      continue;
    }
    t.labels.push_back(c);
    if (const FieldInfo* f = find_field(t.measurand->inputs(), name)) {
      InputRule rule{.field = f};
      if (f->kind == ValueKind::number || f->kind == ValueKind::quantity)
        rule.expression = ColumnExpression::of_column(t.data, c);
      else
        rule.column = c;
      t.inputs.push_back(std::move(rule));
    } else if (!name.starts_with("label ") && !near_misses(name, known).empty()) {
      throw LookupError(
          {.id = "mlsysim.validation.097",
           .message = fmt::format("'{}' is no input of '{}', but close to one", name, measurand_name),
           .key = name,
           .found = fmt::format("the column '{}'", name),
           .expected = fmt::format("one of {}", fmt::join(known, ", ")),
           .hint = fmt::format("{} A column that is no input is named 'label {}'", did_you_mean(name, known),
                               name),
           .where = where});
    }
  }
  std::vector<std::string> missing;
  if (!t.measured) missing.emplace_back("measured");
  for (const auto& f : t.measurand->inputs())
    if (f.required &&
        std::none_of(t.inputs.begin(), t.inputs.end(), [&](const InputRule& r) { return r.field == &f; }))
      missing.push_back(f.name);
  if (missing.empty()) return t;
  throw InputError(
      {.id = "mlsysim.validation.092",
       .message = fmt::format("{} lacks columns that '{}' needs", t.data.file(), measurand_name),
       .key = missing.front(),
       .found = fmt::format("the columns {}", fmt::join(t.data.columns(), ", ")),
       .expected = fmt::format("the columns {}", fmt::join(missing, ", ")),
       .hint = fmt::format("columns are named like inputs ({}) and 'measured' or 'measured [unit]'",
                           fmt::join(std::span(known).subspan(1), ", ")),
       .where = {t.data.file(), 1, 1}});
}

MeasuredTable table_of_file(const std::string& file, const std::string& measurand) {
  const bool definition = file.ends_with(".yaml");
  if (definition != measurand.empty())
    throw InputError(
        {.id = "mlsysim.validation.142",
         .message = definition ? "the definition of a table states its measurand itself"
                               : "a CSV file does not say what it measures",
         .key = "measurand",
         .found = definition ? fmt::format("measurand {}", measurand) : "no measurand",
         .expected = definition ? "the file alone" : "a measurand: matrix_product, token_time, ...",
         .hint = definition ? "leave out the measurand" : "e.g. --measurand token_time"});
  return definition ? load_table_file(file) : table_of_measurements(file, measurand);
}

}  // namespace mlsysim
