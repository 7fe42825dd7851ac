#include <mlsysim/validation/report.hpp>

#include "detail/result_text.hpp"

#include <mlsysim/report/table.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace mlsysim {
namespace {

using Json = nlohmann::ordered_json;

Table overview(std::span<const TableResult> results, OutputFormat format) {
  Table t{.schema = "mlsysim/validation@1", .title = "predictions against measurements"};
  t.columns = {{"table"}, {"rows"}, {"left out"}, {"median"},          {"mean"},
               {"p90"},   {"max"},  {"bias"},     {"textbook median"}, {"roofline median"}};
  const bool exact = format == OutputFormat::csv;
  if (exact) t.columns.insert(t.columns.end(), {{"textbook rows"}, {"roofline rows"}});
  const auto share = [&](double x, bool sign = false) -> Table::Cell {
    if (exact) return x;
    return detail::percent(x, sign);
  };
  const auto compared = [&](const ErrorStatistics& e, const TableResult& r) -> Table::Cell {
    if (exact && e.rows > 0) return e.median;
    return detail::percent_of(e.median, e, r);
  };
  // Counts are never rounded.
  const auto count = [&](std::size_t n) -> Table::Cell {
    if (exact) return static_cast<double>(n);
    return fmt::format("{}", n);
  };
  for (const auto& r : results) {
    const auto left = count(detail::left_out_rows(r));
    if (r.errors.rows == 0) {
      t.rows.push_back({r.table->name, count(0), left, "", "", "", "", "", "", ""});
      if (exact) t.rows.back().insert(t.rows.back().end(), {count(0), count(0)});
      continue;
    }
    const auto& e = r.errors;
    t.rows.push_back({r.table->name, count(e.rows), left, share(e.median), share(e.mean), share(e.p90),
                      share(e.max), share(e.bias, true), compared(r.textbook, r), compared(r.roofline, r)});
    if (exact) t.rows.back().insert(t.rows.back().end(), {count(r.textbook.rows), count(r.roofline.rows)});
  }
  return t;
}

/// Tables of one topic: "serving" of "serving/vllm_request_log_rtx".
struct Topic {
  std::string name;
  std::vector<const TableResult*> tables;  ///< by falling median
  double rows = 0;

  [[nodiscard]] double middle() const { return tables[tables.size() / 2]->errors.median; }
};

/// Compared tables by topic, in the order in which topics first occur.
std::vector<Topic> topics_of(std::span<const TableResult> results) {
  std::vector<Topic> out;
  for (const auto& r : results) {
    if (r.errors.rows == 0) continue;
    const auto name = r.table->name.substr(0, r.table->name.find('/'));
    auto topic = std::find_if(out.begin(), out.end(), [&](const Topic& t) { return t.name == name; });
    if (topic == out.end()) topic = out.insert(out.end(), {.name = name, .tables = {}});
    topic->tables.push_back(&r);
    topic->rows += static_cast<double>(r.errors.rows);
  }
  for (auto& t : out)
    std::stable_sort(t.tables.begin(), t.tables.end(), [](const TableResult* a, const TableResult* b) {
      return a->errors.median > b->errors.median;
    });
  return out;
}

/// More tables than these are summed up by topic.
constexpr std::size_t kTablesListed = 16;

/// How far predictions are from measurements, in one line.
std::string verdict(std::span<const TableResult> results) {
  std::vector<const TableResult*> compared;
  double rows = 0;
  for (const auto& r : results) {
    if (r.errors.rows == 0) continue;
    compared.push_back(&r);
    rows += static_cast<double>(r.errors.rows);
  }
  if (compared.empty()) return "No row could be compared.\n";
  std::sort(compared.begin(), compared.end(),
            [](const TableResult* a, const TableResult* b) { return a->errors.median < b->errors.median; });
  const auto at = [&](double share) {
    const auto last = static_cast<double>(compared.size() - 1);
    return compared[static_cast<std::size_t>(share * last)]->errors.median;
  };
  if (compared.size() == 1)
    return fmt::format("Half of {:.0f} rows are predicted within {}, nine of ten within {}.\n", rows,
                       detail::percent(compared[0]->errors.median), detail::percent(compared[0]->errors.p90));
  return fmt::format(
      "Half of {} tables ({:.0f} rows) are predicted within {}, nine of ten within {} (median error of a "
      "table). Worst: {} ({}).\n",
      compared.size(), rows, detail::percent(at(0.5)), detail::percent(at(0.9)), compared.back()->table->name,
      detail::percent(compared.back()->errors.median));
}

/// One row for each topic, where a row for each table would fill pages.
Table by_topic(std::span<const TableResult> results) {
  Table t{.schema = "mlsysim/validation@1", .title = "predictions against measurements"};
  t.columns = {{"topic"}, {"tables"}, {"rows"}, {"median"}, {"worst table"}, {"its median"}};
  for (const auto& topic : topics_of(results)) {
    const auto& worst = *topic.tables.front();
    t.rows.push_back({topic.name, fmt::format("{}", topic.tables.size()), fmt::format("{:.0f}", topic.rows),
                      detail::percent(topic.middle()), worst.table->name.substr(topic.name.size() + 1),
                      detail::percent(worst.errors.median)});
  }
  t.footer = "median: of the medians of its tables. Each table: --verbose, or name a topic";
  return t;
}

Json json_of(const ErrorStatistics& e) {
  if (e.rows == 0) return nullptr;
  return {{"rows", e.rows}, {"median", e.median}, {"mean", e.mean},
          {"p90", e.p90},   {"max", e.max},       {"bias", e.bias}};
}

/// An input in base units, entries of the zoo by their name; null where it is not given.
Json input_json(const Value& value) {
  if (const auto* entry = std::get_if<ObjectRef>(&value)) return std::string(spec_name(*entry));
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  return nullptr;
}

Json json_of(const PredictedRow& row, const MeasuredTable& table) {
  Json terms = Json::object();
  for (const auto& t : row.terms) terms[std::string(t.name)] = t.base;
  Json inputs = Json::object();
  for (const auto& f : table.measurand->inputs())
    if (auto value = input_json(f.read(row.inputs.get())); !value.is_null())
      inputs[std::string(f.name)] = std::move(value);
  return {{"line", table.data.where(row.row, 0).line},
          {"row", row.label},
          {"inputs", inputs},
          {"measured", row.measured},
          {"predicted", row.predicted},
          {"error", row.error()},
          {"terms", terms}};
}

std::string json(std::span<const TableResult> results) {
  Json tables = Json::array();
  for (const auto& r : results) {
    Json left = Json::array(), worst = Json::array(), without = Json::object();
    for (const auto& l : r.left_out) left.push_back({{"reason", l.reason}, {"rows", l.rows}});
    for (const auto& w : r.worst) worst.push_back(json_of(w, *r.table));
    for (const auto& a : r.ablations) without[std::string(a.name)] = json_of(a.errors);
    tables.push_back(
        {{"table", r.table->name},
         {"title", r.table->title},
         {"reference", r.table->reference},
         {"measurand", r.table->measurand != nullptr ? Json(r.table->measurand->name()) : Json()},
         {"unit", r.table->measurand != nullptr
                      ? Json(canonical_unit(detail::exponents_of(*r.table->measurand)))
                      : Json()},
         {"records", r.records},
         {"left_out", left},
         {"errors", json_of(r.errors)},
         {"textbook", json_of(r.textbook)},
         {"roofline", json_of(r.roofline)},
         {"without", without},
         {"worst", worst}});
  }
  const auto line = verdict(results);
  return detail::json_document(Json({{"schema", "mlsysim/validation@1"},
                                     {"verdict", line.substr(0, line.find('\n'))},
                                     {"tables", tables}}));
}

std::string markdown(std::span<const TableResult> results, const RenderOptions& options) {
  std::string out = verdict(results) + "\n" + render(overview(results, OutputFormat::markdown), options);
  for (const auto& r : results) {
    out += fmt::format("\n## {}\n\n{}. Source: `{}`.{}\n", r.table->name, r.table->title, r.table->reference,
                       r.table->note.empty() ? "" : " " + r.table->note);
    if (!r.left_out.empty()) {
      out += "\nLeft out:\n\n";
      for (const auto& l : r.left_out) out += fmt::format("* {} rows: {}\n", l.rows, l.reason);
    }
    if (!r.ablations.empty()) {
      out += "\n| without | median | mean | what it means |\n| --- | ---: | ---: | --- |\n";
      for (const auto& a : r.ablations)
        for (const auto& known : ablations())
          if (known.name == a.name)
            out += fmt::format("| {} | {} | {} | {} |\n", a.name,
                               detail::percent_of(a.errors.median, a.errors, r),
                               detail::percent(a.errors.mean), known.meaning);
    }
    if (!r.worst.empty()) {
      out += "\n| worst rows | measured | predicted | error | terms |\n| --- | ---: | ---: | ---: | --- |\n";
      for (const auto& w : r.worst)
        out += fmt::format("| {} | {} | {} | {} | {} |\n", w.label, detail::shown(w.measured, *r.table),
                           detail::shown(w.predicted, *r.table), detail::percent(w.error(), true),
                           detail::terms_text(w, *r.table));
    }
  }
  return out;
}

std::string details(const TableResult& r) {
  std::string out = fmt::format("\n{}: {} [{}]\n", r.table->name, r.table->title, r.table->reference);
  for (const auto& l : r.left_out) out += fmt::format("  left out {:>6}  {}\n", l.rows, l.reason);
  for (const auto& a : r.ablations)
    out += fmt::format("  without {:<8} median {}, mean {}\n", a.name,
                       detail::percent_of(a.errors.median, a.errors, r), detail::percent(a.errors.mean));
  for (const auto& w : r.worst)
    out += fmt::format("  {:>8}  {}: measured {}, predicted {} ({})\n", detail::percent(w.error(), true),
                       w.label, detail::shown(w.measured, *r.table), detail::shown(w.predicted, *r.table),
                       detail::terms_text(w, *r.table));
  return out;
}

}  // namespace

std::string render(std::span<const TableResult> results, const RenderOptions& options) {
  switch (options.format) {
    case OutputFormat::json:
      return json(results);
    case OutputFormat::markdown:
      return markdown(results, options);
    default:
      break;
  }
  if (options.format != OutputFormat::text) return render(overview(results, options.format), options);
  std::string out = verdict(results);
  const bool all = options.verbosity == Verbosity::verbose || results.size() <= kTablesListed;
  out += render(all ? overview(results, options.format) : by_topic(results), options);
  if (options.verbosity == Verbosity::verbose || results.size() == 1)
    for (const auto& r : results) out += details(r);
  return out;
}

}  // namespace mlsysim
