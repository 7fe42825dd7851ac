// Shows compile records as parts of a page: bars over commits, every break with a choice of category, and
// changes since another set of records.

#include "cli/commands_compile.hpp"

#include <mlsysim/ops/regression/breaks.hpp>
#include <mlsysim/plot/report_page.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace mlsysim::cli {
namespace {

constexpr std::size_t kMostTypes = 7;  // that bars tell apart; the rest is one more

/// Breaks by commit and type; the types with most breaks first, the others as one.
struct ByCommit {
  std::vector<std::string> types;
  std::map<std::string, std::map<std::string, double>> commits;
};
ByCommit by_commit(const CompileRecords& all) {
  std::map<std::string, double> totals;
  for (const auto& r : all.records)
    for (const auto& b : r.breaks) totals[b.type] += b.count;
  ByCommit out;
  for (const auto& [type, count] : totals) out.types.push_back(type);
  std::stable_sort(out.types.begin(), out.types.end(),
                   [&](const auto& a, const auto& b) { return totals[a] > totals[b]; });
  if (out.types.size() > kMostTypes + 1) {
    out.types.resize(kMostTypes);
    out.types.emplace_back("others");
  }
  for (const auto& r : all.records) {
    auto& of = out.commits[r.commit];
    for (const auto& b : r.breaks) {
      const bool own = std::find(out.types.begin(), out.types.end(), b.type) != out.types.end();
      of[own ? b.type : "others"] += b.count;
    }
  }
  return out;
}

/// A bar for each commit, a part for each reason.
Picture bars(const CompileRecords& all) {
  const auto found = by_commit(all);
  PictureMark m{.shape = MarkShape::bar,
                .x = "from",
                .y = "commit",
                .x_end = "to",
                .series = "reason",
                .label = "label"};
  m.data = {.schema = "mlsysim/breaks-by-commit@1",
            .title = "breaks by commit and reason",
            .columns = {{"commit"}, {"reason"}, {"from"}, {"to"}, {"breaks"}, {"label"}}};
  Picture p{.kind = "breaks",
            .title = "Graph breaks of each commit by reason",
            .x = {.title = "breaks", .from_zero = true},
            .y = {.title = "commit", .scale = Scale::category}};
  double most = 0;
  for (const auto& [commit, counts] : found.commits) {
    const auto name = commit.substr(0, 24);
    p.y.categories.push_back(name);
    double at = 0;
    for (const auto& type : found.types) {
      const auto n = counts.contains(type) ? counts.at(type) : 0;
      if (n == 0) continue;
      m.data.rows.push_back({name, type, at, at + n, n, fmt::format("{:g}", n)});
      at += n;
    }
    most = std::max(most, at);
  }
  p.description = fmt::format("Bars of {} commits, the longest of {:g} breaks.", found.commits.size(), most);
  p.marks.push_back(std::move(m));
  return p;
}

std::string place_of(const SourceLine& place) {
  return place.file.empty() ? std::string() : fmt::format("{}:{} {}", place.file, place.line, place.function);
}

/// Every break with its whole reason.
ChoiceTable every_break(const CompileRecords& all) {
  ChoiceTable out{.table = {.schema = "mlsysim/compile_breaks@1",
                            .title = "Breaks",
                            .columns = {{"family"},
                                        {"model"},
                                        {"commit"},
                                        {"category"},
                                        {"id"},
                                        {"place"},
                                        {"times"},
                                        {"reason"},
                                        {"text"}}},
                  .by = "category",
                  .behind = "text"};
  for (const auto& r : all.records)
    for (const auto& b : r.breaks)
      out.table.rows.push_back({r.family, r.model, r.commit, name_of(b.category), b.gb_id,
                                place_of(b.place()), b.count, b.type, b.reason});
  return out;
}

}  // namespace

ReportPart breaks_part(const CompileRecords& all) {
  ReportPart part{.heading = "Graph breaks"};
  const bool any =
      std::any_of(all.records.begin(), all.records.end(), [](const auto& r) { return !r.breaks.empty(); });
  if (!any) {
    part.words.push_back(fmt::format("No break is listed in {} records.", all.records.size()));
    return part;
  }
  double unlisted = 0;
  for (const auto& r : all.records) unlisted += r.unlisted();
  if (unlisted > 0)
    part.words.push_back(
        fmt::format("{:g} more breaks are counted by their source, without a reason.", unlisted));
  part.pictures.push_back(bars(all));
  part.choices.push_back(every_break(all));
  return part;
}

ReportPart break_changes_part(const CompileRecords& before, const CompileRecords& after) {
  const auto diff = diff_of(before, after);
  ReportPart part{.heading = "Graph breaks before and after"};
  ChoiceTable t{
      .table = {.schema = "mlsysim/compile_diff@1",
                .title = "Breaks before and after",
                .columns = {{"model"}, {"what"}, {"before"}, {"after"}, {"type"}, {"place"}, {"hint"}}},
      .by = "what",
      .behind = {}};
  for (const auto& p : diff.places)
    t.table.rows.push_back({p.model, verdict_of(p), p.before, p.after, p.type, place_of(p.place), p.hint});
  part.words.push_back(fmt::format("Graphs: {:g} before, {:g} after. A line that moves is no change.",
                                   diff.graphs_before, diff.graphs_after));
  part.choices.push_back(std::move(t));
  return part;
}

std::string compile_page(const CompileRecords& all, const std::vector<Table>& tables) {
  ReportPage page{.title = "Compile records", .answer = {}, .parts = {breaks_part(all)}};
  double breaks = 0;
  for (const auto& r : all.records) breaks += r.graph_breaks;
  page.answer = fmt::format("{:g} graph breaks in {} records.", breaks, all.records.size());
  for (const auto& t : tables)
    if (!t.rows.empty()) page.parts.push_back({.heading = t.title, .tables = {t}});
  return to_html(page);
}

}  // namespace mlsysim::cli
