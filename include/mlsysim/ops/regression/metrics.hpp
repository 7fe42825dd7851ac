#pragma once
/// Exports the run of a matrix as metrics.

#include <mlsysim/ops/export/compile_metrics.hpp>
#include <mlsysim/ops/regression/history.hpp>
#include <mlsysim/ops/regression/report.hpp>

namespace mlsysim {

/// By these labels the metrics of a run are groups of a Pushgateway: a run replaces what it has predicted
/// before, and nothing that others have.
inline const std::vector<std::string> kCiGroupLabels{"pipeline", "model_family"};

/// Predictions and budgets of each cell by dimension (`NumberFamilies`: mlsysim_predicted_latency_seconds,
/// mlsysim_budget_latency_seconds), cells by status, differences by verdict, budgets that are broken, places
/// without a full answer by reason (of a model without any 0), and what the records of a compiler say.
/// @param zoo knows the families of models; of one that it does not have, the family is "unknown"
[[nodiscard]] std::vector<MetricFamily> ci_metrics(const CiReport& report, const Zoo& zoo, Aliases aliases);
/// The groups that a matrix fills.
[[nodiscard]] std::vector<std::map<std::string, std::string>> ci_groups(const CiMatrix& matrix,
                                                                        const Zoo& zoo);
/// A number over the commits of a history, each point at the time of its commit, under the names of
/// `ci_metrics`. Of two commits of one second the later one counts.
/// @param cell empty for all
/// @throws LookupError with near misses
[[nodiscard]] std::vector<MetricFamily> history_metrics(const CiHistory& history, const std::string& metric,
                                                        const std::string& cell, const Zoo& zoo);

}  // namespace mlsysim
