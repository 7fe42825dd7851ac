#include <mlsysim/ops/regression/metrics.hpp>

#include <mlsysim/ops/export/detail/numbers.hpp>
#include <mlsysim/specs/workload.hpp>
#include <mlsysim/version.hpp>

#include <set>

namespace mlsysim {
namespace {

using Labels = std::map<std::string, std::string>;

std::string family_of(const std::string& model, const Zoo& zoo) {
  const auto* w = zoo.find<Workload>(model);
  return w == nullptr || w->category.empty() ? "unknown" : w->category;
}

Labels labels_of(const MatrixCell& cell, const Zoo& zoo) {
  return {{"model_family", family_of(cell.model, zoo)},
          {"model_name", cell.model},
          {"hardware", cell.hardware},
          {"precision", cell.precision},
          {"pipeline", cell.pipeline}};
}

Labels with(Labels labels, const std::string& name, std::string value) {
  labels[name] = std::move(value);
  return labels;
}

/// The records of a cell, under the family of its model.
CompileRecords records_of(const MatrixCell& cell, const Zoo& zoo, const std::string& commit) {
  auto out =
      ingest({cell.records}, {.family = family_of(cell.model, zoo), .model = cell.model, .commit = commit});
  return out;
}

/// Places without a full answer, by what they are of; 0 for what has none.
MetricFamily breaks_of(const CiReport& report, const Zoo& zoo) {
  std::map<Labels, double> sums;
  for (const auto& c : report.run.cells) {
    Labels labels{{"model_family", family_of(c.cell.model, zoo)},
                  {"model_name", c.cell.model},
                  {"hardware", c.cell.hardware},
                  {"pipeline", c.cell.pipeline},
                  {"commit", report.commit}};
    const bool ok = c.status == CellStatus::ok;
    sums[with(std::move(labels), "reason", std::string(ok ? "none" : name_of(c.why)))] += ok ? 0 : 1;
  }
  MetricFamily out{
      "mlsysim_breaks", "Cells without a full answer by reason; none has a 0.", MetricType::gauge, {}};
  for (auto& [labels, count] : sums) out.samples.push_back({labels, count});
  return out;
}

/// How many there are of each choice.
template <class E>
MetricFamily counted(const CiReport& report, const char* name, const char* help, const char* label) {
  MetricFamily out{name, help, MetricType::gauge, {}};
  for (std::size_t i = 0; i < Choices<E>::names.size(); ++i)
    out.samples.push_back({{{label, std::string(Choices<E>::names[i])}, {"commit", report.commit}},
                           static_cast<double>(report.count(static_cast<E>(i)))});
  return out;
}

/// Metrics of the compile records that cells name. A file counts once for each model.
std::vector<MetricFamily> compiled(const CiReport& report, const Zoo& zoo, Aliases aliases) {
  std::set<std::pair<std::filesystem::path, std::string>> seen;
  CompileRecords all;
  for (const auto& c : report.run.cells) {
    if (c.cell.records.empty() || c.status == CellStatus::failed) continue;
    if (!seen.insert({c.cell.records, c.cell.model}).second) continue;
    auto records = records_of(c.cell, zoo, report.commit);
    for (auto& r : records.records) all.records.push_back(std::move(r));
  }
  return all.records.empty() ? std::vector<MetricFamily>() : compile_metrics(all, aliases);
}

}  // namespace

std::vector<MetricFamily> ci_metrics(const CiReport& report, const Zoo& zoo, Aliases aliases) {
  NumberFamilies predicted("mlsysim_predicted", "Predicted number of a cell.");
  NumberFamilies limits("mlsysim_budget", "Limit of a number of a cell.");
  MetricFamily broken{
      "mlsysim_budget_broken", "Whether a cell is over a budget (0 or 1).", MetricType::gauge, {}};
  std::map<std::string, Labels> cells;
  for (const auto& c : report.run.cells) {
    const auto& labels = cells[c.cell.name()] = with(labels_of(c.cell, zoo), "commit", report.commit);
    for (const auto& n : c.numbers) predicted.add(with(labels, "number", n.name), n.value, n.exps);
  }
  std::map<Labels, double> over;
  for (const auto& b : report.run.budgets) {
    const auto& labels = cells.at(b.cell);
    limits.add(with(labels, "number", b.number), b.limit, b.exps);
    over[with(labels, "budget", b.text)] += 0;
  }
  for (const auto& b : report.run.broken) over[with(cells.at(b.cell), "budget", b.text)] = 1;
  for (const auto& [labels, value] : over) broken.samples.push_back({labels, value});

  auto out = predicted.families();
  for (auto& f : limits.families()) out.push_back(std::move(f));
  if (!broken.samples.empty()) out.push_back(std::move(broken));
  out.push_back(breaks_of(report, zoo));
  out.push_back(counted<CellStatus>(report, "mlsysim_cells", "Cells of the matrix by status.", "status"));
  if (report.compared)
    out.push_back(counted<Verdict>(report, "mlsysim_differences",
                                   "Numbers that are not what was accepted, by verdict.", "verdict"));
  out.push_back({"mlsysim_build_info",
                 "Version of the library, and the commit that was predicted for.",
                 MetricType::gauge,
                 {{{{"version", std::string(version_text)}, {"commit", report.commit}}, 1}}});
  for (auto& f : compiled(report, zoo, aliases)) out.push_back(std::move(f));
  return out;
}

std::vector<Labels> ci_groups(const CiMatrix& matrix, const Zoo& zoo) {
  std::set<Labels> out{{}};
  for (const auto& cell : matrix.cells) {
    const auto family = family_of(cell.model, zoo);
    out.insert({{"pipeline", cell.pipeline}, {"model_family", family}});
    if (cell.records.empty()) continue;
    out.insert({{"model_family", family}});
    try {  // records may say their own families
      for (const auto& r : records_of(cell, zoo, {}).records) out.insert({{"model_family", r.family}});
    } catch (const InputError&) {
      continue;  // the cell fails, and fills no group of its records
    }
  }
  return {out.begin(), out.end()};
}

std::vector<MetricFamily> history_metrics(const CiHistory& history, const std::string& metric,
                                          const std::string& cell, const Zoo& zoo) {
  const auto exps = history.unit_of(metric).second;
  NumberFamilies out("mlsysim_predicted", "Predicted number of a cell.");
  for (const auto& name : cell.empty() ? history.cells() : std::vector<std::string>{cell}) {
    // A model may have slashes in its name; the other parts have none.
    MatrixCell parts{.model = name};
    for (auto* part : {&parts.pipeline, &parts.precision, &parts.hardware}) {
      const auto slash = parts.model.rfind('/');
      if (slash == std::string::npos) break;
      *part = parts.model.substr(slash + 1);
      parts.model.resize(slash);
    }
    const auto labels = with(labels_of(parts, zoo), "number", metric);
    for (const auto& p : history.points(metric, name))
      out.add(labels, p.value, exps, static_cast<double>(p.time));
  }
  return out.families();
}

}  // namespace mlsysim
