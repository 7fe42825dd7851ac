#include "detail/competitors.hpp"
#include "detail/result_text.hpp"

#include <mlsysim/tape/detail/quantile.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/validation/league.hpp>
#include <mlsysim/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace mlsysim {
namespace {

std::string_view topic_of(const TableResult& r) {
  return std::string_view(r.table->name).substr(0, r.table->name.find('/'));
}

/// Base units of one unit of a measurand.
double unit_of(const Measurand& measurand) {
  return measurand.unit().empty() ? 1.0 : AnyQuantity::parse(fmt::format("1 {}", measurand.unit())).base();
}

/// A tool in one topic: the median error of each table, and the rows that it answers.
struct Score {
  std::vector<double> medians;
  std::size_t answered = 0;

  void add(std::vector<double> errors) {
    if (errors.empty()) return;
    answered += errors.size();
    std::sort(errors.begin(), errors.end());
    medians.push_back(detail::quantile(errors, 0.5));
  }
  void add(const ErrorStatistics& errors) {
    answered += errors.rows;
    if (errors.rows > 0) medians.push_back(errors.median);
  }
  [[nodiscard]] std::string cell(std::size_t rows) const {
    if (medians.empty()) return " - |";
    auto sorted = medians;
    std::sort(sorted.begin(), sorted.end());
    const double share = static_cast<double>(answered) / static_cast<double>(rows);
    return fmt::format(" {}{} |", detail::percent(detail::quantile(sorted, 0.5)),
                       share < 1 ? fmt::format(" ({:.0f} % of the rows)", 100 * share) : "");
  }
};

std::vector<std::string_view> topics_of(std::span<const TableResult> results) {
  std::vector<std::string_view> out;
  for (const auto& r : results)
    if (!r.rows.empty() && std::ranges::find(out, topic_of(r)) == out.end()) out.push_back(topic_of(r));
  out.emplace_back("");  // all
  return out;
}

std::string csv_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// Predictions of a tool for a row, in base units.
std::optional<double> said(const OutsidePredictions& tool, const TableResult& r, const PredictedRow& row) {
  const auto at = tool.values.find({r.table->name, row.row + 1});
  if (at == tool.values.end()) return std::nullopt;
  return at->second * unit_of(*r.table->measurand);
}

/// Refuses predictions of rows that nobody asked about.
void check_rows(std::span<const TableResult> results, const OutsidePredictions& tool) {
  for (const auto& [key, value] : tool.values) {
    const auto& [table, row] = key;
    const auto r = std::ranges::find_if(results, [&](const auto& x) { return x.table->name == table; });
    const bool known =
        r != results.end() && std::ranges::any_of(r->rows, [&](const auto& x) { return x.row + 1 == row; });
    if (known) continue;
    std::vector<std::string> names;
    for (const auto& x : results) names.push_back(x.table->name);
    throw LookupError({.id = "mlsysim.validation.098",
                       .message = fmt::format("'{}' predicts a row that is not compared", tool.tool),
                       .key = "predictions",
                       .found = fmt::format("row {} of '{}'", row, table),
                       .expected = "a table and a row of `mlsysim validate --write-rows FILE`",
                       .hint = r == results.end()
                                   ? did_you_mean(table, names)
                                   : "left-out rows and repeats of a row have no number there"});
  }
}

/// Errors of `tool` on a table, and those of this program on the same rows.
std::pair<std::vector<double>, std::vector<double>> errors_of(const OutsidePredictions& tool,
                                                              const TableResult& r) {
  std::pair<std::vector<double>, std::vector<double>> out;
  for (const auto& row : r.rows)
    if (const auto x = said(tool, r, row)) {
      out.first.push_back(std::abs(*x - row.measured) / row.measured);
      out.second.push_back(std::abs(row.error()));
    }
  return out;
}

/// The other tool and this program on the rows that both answer.
std::string duel(std::span<const TableResult> results, const OutsidePredictions& tool) {
  std::string out = fmt::format(
      "\n## {} and mlsysim on the same rows\n\n| topic | rows | {} | mlsysim | mlsysim nearer |\n"
      "| --- | ---: | ---: | ---: | ---: |\n",
      tool.tool, tool.tool);
  for (const auto topic : topics_of(results)) {
    Score theirs, ours;
    std::size_t nearer = 0;
    for (const auto& r : results) {
      if (!topic.empty() && topic_of(r) != topic) continue;
      auto [other, own] = errors_of(tool, r);
      for (std::size_t i = 0; i < own.size(); ++i) nearer += own[i] < other[i] ? 1U : 0U;
      theirs.add(std::move(other));
      ours.add(std::move(own));
    }
    const std::size_t n = theirs.answered;
    if (n == 0) continue;
    out += fmt::format("| {} | {} |{}{} {:.0f} % |\n", topic.empty() ? "all" : topic, n, theirs.cell(n),
                       ours.cell(n), 100 * static_cast<double>(nearer) / static_cast<double>(n));
  }
  return out;
}

}  // namespace

OutsidePredictions read_predictions(std::string tool, const std::filesystem::path& file) {
  const auto csv = CsvTable::read(file);
  const auto table = csv.column("table"), row = csv.column("row"), predicted = csv.column("predicted");
  OutsidePredictions out{std::move(tool), {}};
  for (std::size_t i = 0; i < csv.rows(); ++i) {
    if (csv.text(i, predicted).empty()) continue;
    const double n = csv.number(i, row), value = csv.number(i, predicted);
    const bool counts = n >= 1 && std::floor(n) == n && n < 0x1p31;
    if (!counts || !(value >= 0) || !std::isfinite(value))
      throw InputError({.id = "mlsysim.validation.099",
                        .message = "a row of predictions cannot be read",
                        .key = counts ? "predicted" : "row",
                        .found = fmt::format("'{}'", csv.text(i, counts ? predicted : row)),
                        .expected = counts ? "a number of at least 0" : "the number of a row, from 1",
                        .hint = "leave `predicted` empty where there is no answer",
                        .where = csv.where(i, counts ? predicted : row)});
    out.values[{std::string(csv.text(i, table)), static_cast<std::size_t>(n)}] = value;
  }
  return out;
}

std::string rows_to_predict(std::span<const TableResult> results) {
  std::string out = "table,row,what,unit,predicted\n";
  for (const auto& r : results)
    for (const auto& row : r.rows)
      out += fmt::format("{},{},{},{},\n", r.table->name, row.row + 1, csv_text(r.table->label(row.row)),
                         csv_text(r.table->measurand->unit()));
  return out;
}

std::string league_page(std::span<const TableResult> results, const Zoo& zoo,
                        std::span<const OutsidePredictions> others) {
  for (const auto& tool : others) check_rows(results, tool);
  std::string out = fmt::format(
      "# League\n\nWritten by `mlsysim validate --league FILE`. Tools on the rows of the published "
      "measurements "
      "that ship with the zoo, by topic: the\nmedian over the tables of their median of |predicted - "
      "measured| / "
      "measured, and the share of the rows that a tool answers where it is not all.\n\n"
      "* **mlsysim** {} has the constants of the zoo, some of which were fitted to kernels and collectives. "
      "[Accuracy](accuracy.md) has them with groups left out.\n"
      "* **Textbook** is the classic formula with half of the peak rate, that of MLSys-im. **Data sheet** is "
      "the "
      "larger of work over peak rate and traffic over\n  peak bandwidth.\n"
      "* **Nearest row** is the measured value of the most similar row of the same table. It has seen the "
      "same "
      "machine, and says nothing of another one.\n"
      "* **Yours**: `mlsysim validate --write-rows rows.csv` lists the rows. Fill in `predicted` and run "
      "`mlsysim "
      "validate --league league.md\n  --predictions NAME=rows.csv`.\n\n"
      "| topic | rows | mlsysim | textbook | data sheet | nearest row |",
      version_text);
  for (const auto& tool : others) out += fmt::format(" {} |", tool.tool);
  out += "\n| --- | ---: | ---: | ---: | ---: | ---: |";
  for (std::size_t i = 0; i < others.size(); ++i) out += " ---: |";
  out += "\n";
  std::map<std::string_view, std::optional<double>> nearest;
  for (const auto& r : results)
    if (!r.rows.empty()) nearest[r.table->name] = competitors_of(*r.table, zoo).neighbour;
  for (const auto topic : topics_of(results)) {
    std::size_t rows = 0;
    Score ours, textbook, sheet, nearby;
    std::vector<Score> theirs(others.size());
    for (const auto& r : results) {
      if (r.rows.empty() || (!topic.empty() && topic_of(r) != topic)) continue;
      rows += r.rows.size();
      ours.add(r.errors);
      textbook.add(r.textbook);
      sheet.add(r.roofline);
      if (const auto& n = nearest[r.table->name])
        nearby.add(ErrorStatistics{.rows = r.rows.size(), .median = *n});
      for (std::size_t i = 0; i < others.size(); ++i) theirs[i].add(errors_of(others[i], r).first);
    }
    if (rows == 0) continue;
    out += fmt::format("| {} | {} |{}{}{}{}", topic.empty() ? "all" : topic, rows, ours.cell(rows),
                       textbook.cell(rows), sheet.cell(rows), nearby.cell(rows));
    for (const auto& s : theirs) out += s.cell(rows);
    out += "\n";
  }
  for (const auto& tool : others) out += duel(results, tool);
  return out;
}

}  // namespace mlsysim
