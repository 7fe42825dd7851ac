#pragma once
/// Exports the run of a regression matrix, or its history, as Prometheus metrics.
///
/// Families: mlsysim_predicted_* and mlsysim_budget_* by dimension, mlsysim_budget_broken, mlsysim_breaks,
/// mlsysim_cells, mlsysim_differences, mlsysim_build_info, and the metrics of the compile records of cells.
/// Example: ITL 15.2 ms of a cell becomes mlsysim_predicted_latency_seconds 0.0152, with number="itl" and the
/// labels model_family, model_name, hardware, precision, pipeline and commit.

#include <mlsysim/ops/export/compile_metrics.hpp>
#include <mlsysim/ops/regression/history.hpp>
#include <mlsysim/ops/regression/report.hpp>

namespace mlsysim {

/// Labels that divide the metrics of a run into Pushgateway groups, so that a run replaces its own earlier
/// metrics only.
inline const std::vector<std::string> kCiGroupLabels{"pipeline", "model_family"};

/// The families of a run. mlsysim_breaks counts cells without a full answer by reason. Complete cells count 0
/// under "none".
/// @param zoo gives the family of a model; a model that it lacks has the family "unknown"
[[nodiscard]] std::vector<MetricFamily> ci_metrics(const CiReport& report, const Zoo& zoo, Aliases aliases);
/// The groups that a matrix fills.
[[nodiscard]] std::vector<std::map<std::string, std::string>> ci_groups(const CiMatrix& matrix,
                                                                        const Zoo& zoo);
/// A number over the commits of a history, each point at the time of its commit, under the names of
/// `ci_metrics`. If two commits share a second, the later one counts.
/// @param cell empty for all
/// @throws LookupError with near misses
[[nodiscard]] std::vector<MetricFamily> history_metrics(const CiHistory& history, const std::string& metric,
                                                        const std::string& cell, const Zoo& zoo);

}  // namespace mlsysim
