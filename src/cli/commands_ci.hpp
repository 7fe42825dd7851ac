#pragma once
/// Commands that hold predictions to what was accepted.

#include "commands.hpp"

#include <mlsysim/ci/report.hpp>

#include <optional>
#include <string>
#include <vector>

namespace mlsysim::cli {

struct CiRequest {
  std::string matrix;
  std::string history, commit, time;   ///< a file of SQLite; empty: nothing is stored
  std::string annotate = "automatic";  ///< or none, plain, github
  std::vector<std::string> reports;    ///< FORM=FILE
  std::string state;                   ///< where what is finished is kept when the run is stopped
  unsigned jobs = 1;
  bool no_baseline = false, force = false, resume = false;
};
/// Predicts the matrix, compares, stores and reports. Exit codes 0, 1, 2 and 4 as CiReport says; 2 is a
/// matrix that cannot be used, 5 a report or a history that could not be written.
[[nodiscard]] Answer ci_run(const CiRequest& request, const RenderOptions& options);
/// Predicts the matrix and writes its baseline.
[[nodiscard]] Answer ci_accept(const CiRequest& request);

struct CiHistoryRequest {
  std::string history, metric, cell, good, bad, better;
  double relative = 1e-9;
  bool openmetrics = false;  ///< a trend with its times, for the back-filling of Prometheus
};
[[nodiscard]] Answer ci_trend(const CiHistoryRequest& request, const RenderOptions& options);
struct CiPruneRequest {
  std::string history, matrix, older_than, time;  ///< older_than: "90 day"
  std::optional<std::size_t> keep;
  bool dry_run = false;
};
/// Removes old commits, and cells that the matrix has not any more.
[[nodiscard]] Answer ci_prune(const CiPruneRequest& request, const RenderOptions& options);
/// Exit code 1 where there is a bad commit, as a script of git bisect expects of a bad state.
[[nodiscard]] Answer ci_bisect(const CiHistoryRequest& request, const RenderOptions& options);

}  // namespace mlsysim::cli
