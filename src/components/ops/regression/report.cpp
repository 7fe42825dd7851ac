#include "ops/regression/report_parts.hpp"

#include <mlsysim/ops/regression/breaks.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace mlsysim {
namespace {

constexpr std::size_t kCausesInWords = 3;

std::string percent(double share) { return fmt::format("{:+.3g} %", 100 * share); }

std::string value_text(const std::optional<double>& value, const Difference& d) {
  if (!value) return d.metric == "status" ? "" : "none";
  if (d.exps.dimensionless()) return pretty(*value);
  return pretty(AnyQuantity::from_base(*value, d.exps));
}

/// A property of a workflow command, and its text: line ends and separators are coded.
std::string github_coded(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    const bool coded = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    out += coded ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

}  // namespace

std::size_t CiReport::count(CellStatus status) const {
  return static_cast<std::size_t>(std::count_if(run.cells.begin(), run.cells.end(),
                                                [&](const CellResult& c) { return c.status == status; }));
}
std::size_t CiReport::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::count_if(differences.begin(), differences.end(),
                                                [&](const Difference& d) { return d.verdict == verdict; }));
}

int CiReport::exit_code() const {
  // That a plugin or a record is out of order is no regression: what is missed because of it tells nothing.
  std::set<std::string> out_of_order;
  for (const auto& c : run.cells)
    if (c.status == CellStatus::failed && (c.refused || c.why == BreakReason::plugin_error))
      out_of_order.insert(c.cell.name());
  if (!run.broken.empty() || std::any_of(differences.begin(), differences.end(), [&](const Difference& d) {
        return d.bad() && !out_of_order.contains(d.cell);
      }))
    return 1;
  if (!out_of_order.empty()) return 3;
  return !run.complete || count(CellStatus::failed) > 0 ? 4 : 0;
}

std::string in_words(const Difference& d) {
  if (d.metric == "status") {
    if (d.status_before.empty()) return fmt::format("new cell: {}", d.status_after);
    if (d.status_after.empty()) return "gone: " + d.reason;
    return fmt::format("{} -> {}{}{}", d.status_before, d.status_after, d.reason.empty() ? "" : ": ",
                       d.reason);
  }
  if (d.verdict == Verdict::fresh) return fmt::format("new number {}: {}", d.metric, value_text(d.after, d));
  if (d.verdict == Verdict::gone)
    return fmt::format("{} is gone; it was {}", d.metric, value_text(d.before, d));
  if (d.verdict == Verdict::incomparable) return fmt::format("{} cannot be compared: {}", d.metric, d.reason);
  const auto change = d.change();
  auto out = fmt::format("{} {} ({} -> {})", change ? percent(*change) : "from 0", d.metric,
                         value_text(d.before, d), value_text(d.after, d));
  for (std::size_t i = 0; i < std::min(kCausesInWords, d.causes.size()); ++i) {
    const auto& c = d.causes[i];
    const auto part =
        *d.before != 0 ? percent(c.part / *d.before) : pretty(AnyQuantity::from_base(c.part, d.exps));
    out += fmt::format("; {} of it from {}", part, c.input);
    if (!c.from.empty() || !c.to.empty()) out += fmt::format(" {} -> {}", c.from, c.to);
  }
  if (d.causes.size() > kCausesInWords)
    out += fmt::format("; {} smaller parts", d.causes.size() - kCausesInWords);
  if (d.per_year) out += fmt::format("; {} a year on the fleet", pretty(AnyQuantity(*d.per_year), 3));
  return out;
}

std::string annotations(const CiReport& r, Annotations form) {
  std::string out;
  if (form == Annotations::none) return out;
  const auto line = [&](std::string_view title, std::string_view text) {
    if (form == Annotations::github)
      out += fmt::format("::error file={},title={}::{}\n", github_coded(r.matrix, true),
                         github_coded(title, true), github_coded(text, false));
    else
      out += fmt::format("error: {}: {}: {}\n", r.matrix, title, text);
  };
  for (const auto& d : r.differences)
    if (d.bad()) line(d.cell, in_words(d));
  for (const auto& b : r.run.broken) line(b.cell, detail::in_words(b));
  for (const auto& c : r.run.cells)
    if (c.status == CellStatus::failed) line(c.cell.name(), c.reason);
  return out;
}

namespace detail {

std::string in_words(const HeldBudget& b) {
  return fmt::format("budget '{}' is broken: {} against {}", b.text,
                     pretty(AnyQuantity::from_base(b.value, b.exps)),
                     pretty(AnyQuantity::from_base(b.limit, b.exps)));
}

std::string summary_of(const CiReport& r) {
  auto out =
      fmt::format("{} cells: {} ok, {} infeasible, {} failed", r.run.cells.size(), r.count(CellStatus::ok),
                  r.count(CellStatus::infeasible), r.count(CellStatus::failed));
  if (r.compared)
    out += fmt::format("; {} worse, {} better, {} new, {} gone, {} incomparable", r.count(Verdict::worse),
                       r.count(Verdict::better), r.count(Verdict::fresh), r.count(Verdict::gone),
                       r.count(Verdict::incomparable));
  else
    out += "; no baseline";
  out += fmt::format("; {} budget{} broken", r.run.broken.size(), r.run.broken.size() == 1 ? "" : "s");
  if (!r.run.complete) out += "; incomplete: the run was stopped";
  return out;
}

Table differences_table(const CiReport& r) {
  Table t{.schema = "mlsysim/ci_differences@1",
          .title = "Differences from the baseline",
          .columns = {{"cell"}, {"verdict"}, {"metric"}, {"what"}}};
  for (const auto& d : r.differences) t.rows.push_back({d.cell, name_of(d.verdict), d.metric, in_words(d)});
  return t;
}
Table budgets_table(const CiReport& r) {
  Table t{.schema = "mlsysim/ci_budgets@1", .title = "Broken budgets", .columns = {{"cell"}, {"what"}}};
  for (const auto& b : r.run.broken) t.rows.push_back({b.cell, in_words(b)});
  return t;
}
Table troubles_table(const CiReport& r) {
  Table t{.schema = "mlsysim/ci_troubles@1",
          .title = "Cells without numbers",
          .columns = {{"cell"}, {"status"}, {"reason"}}};
  for (const auto& c : r.run.cells)
    if (c.status != CellStatus::ok)
      t.rows.push_back({c.cell.name(), name_of(c.status), c.reason.substr(0, c.reason.find('\n'))});
  return t;
}

Table breaks_table(const CiReport& r) {
  Table t{.schema = "mlsysim/ci_breaks@1", .title = "Breaks", .columns = {{"cell"}, {"breaks"}, {"what"}}};
  for (const auto& c : r.run.cells) {
    if (c.subject == nullptr) continue;
    const auto& s = *c.subject;
    for (std::size_t i = 0; i < s.entry.inputs.size(); ++i)
      if (is_break_place(s.entry.inputs[i].name) && s.point[i] > 0)
        t.rows.push_back({c.cell.name(), s.point[i], s.entry.inputs[i].name});
  }
  return t;
}

Table numbers_table(const CiReport& r) {
  Table t{.schema = "mlsysim/ci_numbers@1",
          .title = "Predictions",
          .columns = {{"model"}, {"hardware"}, {"precision"}, {"pipeline"}, {"status"}}};
  std::vector<std::string> names;
  for (const auto& c : r.run.cells)
    for (const auto& n : c.numbers)
      if (std::find(names.begin(), names.end(), n.name) == names.end()) {
        names.push_back(n.name);
        t.columns.push_back({n.name, n.unit});
      }
  for (const auto& c : r.run.cells) {
    auto& row = t.rows.emplace_back();
    row = {c.cell.model, c.cell.hardware, c.cell.precision, c.cell.pipeline, name_of(c.status)};
    for (const auto& name : names) {
      const auto at = std::find_if(c.numbers.begin(), c.numbers.end(),
                                   [&](const CellNumber& n) { return n.name == name; });
      row.push_back(at == c.numbers.end() ? Table::Cell() : Table::Cell(Value(at->value), at->exps));
    }
  }
  return t;
}

}  // namespace detail
}  // namespace mlsysim
