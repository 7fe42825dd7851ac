#include "detail/competitors.hpp"

#include "detail/result_text.hpp"
#include "detail/row_key.hpp"

#include <mlsysim/intervals/model_error.hpp>
#include <mlsysim/tape/detail/quantile.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace mlsysim {
namespace {

constexpr std::size_t kMostAsked = 300;
const double kOtherWord = std::log(10.0);

/// The inputs of rows as logarithms of numbers and as words.
struct Coordinates {
  std::vector<double> numbers;
  std::vector<std::string> words;
};

Coordinates coordinates_of(const Measurand& measurand, const void* inputs) {
  Coordinates out;
  for (const auto& f : measurand.inputs()) {
    const Value v = f.read(inputs);
    if (const auto* x = std::get_if<double>(&v))
      out.numbers.push_back(*x > 0 ? std::log(*x) : -1);
    else if (std::holds_alternative<std::monostate>(v))
      out.numbers.push_back(0);
    else if (const auto* s = std::get_if<std::string>(&v))
      out.words.push_back(*s);
    else if (const auto* b = std::get_if<bool>(&v))
      out.words.emplace_back(*b ? "yes" : "no");
    else if (const auto* o = std::get_if<ObjectRef>(&v))
      out.words.push_back(fmt::format("{}", o->object));
  }
  return out;
}

double between(const Coordinates& a, const Coordinates& b) {
  double d = 0;
  const auto numbers = std::min(a.numbers.size(), b.numbers.size());
  for (std::size_t i = 0; i < numbers; ++i) d += std::abs(a.numbers[i] - b.numbers[i]);
  for (std::size_t i = 0; i < std::min(a.words.size(), b.words.size()); ++i)
    if (a.words[i] != b.words[i]) d += kOtherWord;
  // A choice that one row leaves open is neither of its words.
  d += kOtherWord * std::abs(static_cast<double>(a.words.size()) - static_cast<double>(b.words.size()));
  return d;
}

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return detail::quantile(values, 0.5);
}

std::optional<double> neighbour_error(const MeasuredTable& table, const std::vector<MeasuredRow>& rows) {
  std::vector<Coordinates> at;
  at.reserve(rows.size());
  for (const auto& r : rows) at.push_back(coordinates_of(*table.measurand, r.inputs.get()));
  std::vector<double> errors;
  const std::size_t step = (rows.size() + kMostAsked - 1) / kMostAsked;
  for (std::size_t i = 0; i < rows.size(); i += std::max<std::size_t>(1, step)) {
    double least = std::numeric_limits<double>::infinity(), value = 0;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const double d = between(at[i], at[j]);
      if (d == 0 || d >= least) continue;
      least = d;
      value = rows[j].measured;
    }
    if (std::isfinite(least)) errors.push_back(std::abs(value - rows[i].measured) / rows[i].measured);
  }
  return median_of(std::move(errors));
}

std::optional<double> repeat_error(const MeasuredTable& table, const Zoo& zoo) {
  std::map<std::string, std::vector<double>> same;
  for (const auto& r : detail::rows_with(table, zoo, false).rows)
    same[detail::row_key(*table.measurand, r.inputs.get())].push_back(r.measured);
  std::vector<double> errors;
  for (auto& [key, values] : same) {
    if (values.size() < 2) continue;
    const double middle = *median_of(values);
    for (const double v : values) errors.push_back(std::abs(v - middle) / middle);
  }
  return median_of(std::move(errors));
}

std::string cell(const std::optional<double>& share) {
  return share ? detail::percent(*share) : std::string("-");
}

/// Errors of fits that had not seen the group, by device or engine.
std::string left_out_of(const MeasuredTable& table, std::span<const Calibration> calibrations) {
  std::string out;
  for (const auto& c : calibrations)
    if (std::find(c.tables.begin(), c.tables.end(), table.name) != c.tables.end() && !c.groups.empty())
      out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", detail::percent(c.left_out.median), c.name);
  return out.empty() ? "no fit" : out;
}

std::string answered(const TableResult& r) {
  // Repeats of a measurement are one row, but records each.
  const std::size_t shipped = r.table->data.rows(), records = r.records - detail::left_out_rows(r);
  return fmt::format("{} of {}{}", records, shipped, 2 * records < shipped ? " (under half)" : "");
}

constexpr std::size_t kEighty = 1;  // among kIntervalLevels

std::string allowed(const BandCoverage& c) {
  return fmt::format("{:.0f} to {:.0f} %", 100 * c.allowed[kEighty].low, 100 * c.allowed[kEighty].high);
}

/// Where the 80 % interval holds what it says, where its rows cannot tell, and where it does not.
std::string coverage_in_words(std::span<const BandCoverage> coverage) {
  std::size_t inside = 0, telling = 0;
  std::vector<std::string> untold, missed;
  for (const auto& c : coverage) {
    const double share = std::round(100 * c.group_out[kEighty]);
    const double low = std::round(100 * c.allowed[kEighty].low),
                 high = std::round(100 * c.allowed[kEighty].high);
    telling += low >= 75 && high <= 85 ? 1U : 0U;
    const auto words = fmt::format("{} ({:.0f} %, {} rows in {} groups)", c.table, share, c.rows, c.groups);
    if (share >= 75 && share <= 85)
      ++inside;
    else
      (share >= low && share <= high ? untold : missed).push_back(words);
  }
  return fmt::format(
      "\nThe 80 % interval holds 75 to 85 % of the rows in {} of {} tables. Rows of a group miss together, "
      "so that few groups "
      "show little however many rows they have: \"rows allow\" is\n"
      "what an interval that holds exactly 80 % shows, nine times in ten, over so many rows in so many "
      "groups (binomial, with "
      "the correlation within groups that all tables show).\n"
      "{} of them could tell 75 to 85 % from what lies beside it.\n\n"
      "Outside of 75 to 85 % but in what the rows allow, {} tables: {}.\n\n"
      "Outside of both, {} tables, where about {:.0f} are to be expected of a right interval: {}.\n\n",
      inside, coverage.size(), telling, untold.size(), fmt::join(untold, ", "), missed.size(),
      0.1 * static_cast<double>(coverage.size()), fmt::join(missed, ", "));
}

}  // namespace

Competitors competitors_of(const MeasuredTable& table, const Zoo& zoo) {
  if (table.measurand == nullptr) return {};
  return {neighbour_error(table, rows_of(table, zoo).rows), repeat_error(table, zoo)};
}

std::string honest_columns(std::span<const TableResult> results, std::span<const Calibration> calibrations,
                           const Zoo& zoo) {
  std::string out =
      "## Beside what could be had without a model\n\n"
      "Medians of |error|. **Data sheet**: the larger of work over peak rate and traffic over peak "
      "bandwidth. "
      "**Group left out**: the constants of a\n"
      "device or engine fitted without the group, over all tables of its fit; \"no fit\": no fit of "
      "`calibrations.yaml` uses the table, but figures and\n"
      "rules that people chose may have been chosen with it in sight (docs/explanation/accuracy.md). "
      "**Zoo**: "
      "with the constants of the zoo, in sample\n"
      "where there is a fit. **Nearest row**: the measured value of the row with the nearest other inputs, "
      "the "
      "look-up that a table itself offers.\n"
      "**Repeats**: one measurement against the median of those with the same inputs; nobody can be better. "
      "**Intervals**: the share of rows inside the\n"
      "50, 80 and 95 % intervals of `--interval` where their group is left out of "
      "`zoo/validation/residuals.csv`, and inside that of 80 % where the whole\n"
      "table is; residuals are those of the zoo's constants, which a fitted group has seen. A table that "
      "answers "
      "less than half of its records is marked.\n\n"
      "| table | answered | data sheet | group left out | zoo | nearest row | repeats | 50 % | 80 % | rows "
      "allow "
      "| 95 % | 80 %, table left out |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  const auto coverage = ErrorBook::standard().coverage();
  for (const auto& r : results) {
    if (r.table->measurand == nullptr) continue;
    const auto other = competitors_of(*r.table, zoo);
    const auto held = std::ranges::find(coverage, r.table->name, &BandCoverage::table);
    std::string intervals = " - | - | - | - | - |";
    if (held != coverage.end())
      intervals = fmt::format(" {:.0f} % | {:.0f} % | {} | {:.0f} % | {:.0f} % |", 100 * held->group_out[0],
                              100 * held->group_out[1], allowed(*held), 100 * held->group_out[2],
                              100 * held->table_out[1]);
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |{}\n", r.table->name, answered(r),
                       r.roofline.rows > 0 ? detail::percent(r.roofline.median) : std::string("-"),
                       left_out_of(*r.table, calibrations),
                       r.errors.rows > 0 ? detail::percent(r.errors.median) : std::string("-"),
                       cell(other.neighbour), cell(other.repeats), intervals);
  }
  return out + coverage_in_words(coverage);
}

}  // namespace mlsysim
