#pragma once
/// Commands that hold predictions to what was accepted.

#include "commands.hpp"

#include <mlsysim/ops/events/exporters.hpp>
#include <mlsysim/ops/regression/report.hpp>

#include <optional>
#include <string>
#include <vector>

namespace mlsysim::cli {

/// Servers that take what a run says. Nothing is sent where all are empty.
struct CiSending {
  std::string push, otlp;  ///< a Pushgateway; a receiver of OTLP metrics
  std::string observe;     ///< an observability.yaml, each exporter of which gets the run
  std::string job = "mlsysim", credentials_env;
  double wait = 1;      ///< [s] before the second of three tries
  double timeout = 10;  ///< [s] that one try may take
  bool alias = false, best_effort = false;
};
struct CiRequest {
  CiSending sending{};
  std::string matrix;
  std::string history, commit, time;   ///< a file of SQLite; empty: nothing is stored
  std::string annotate = "automatic";  ///< or none, plain, github
  std::vector<std::string> reports;    ///< FORM=FILE
  std::string state;                   ///< where what is finished is kept when the run is stopped
  unsigned jobs = 1;
  bool no_baseline = false, force = false, resume = false;
  bool strict = false;  ///< damaged records are refused
};
/// Exporters and credentials of the servers, read before anything is predicted.
struct CiExports {
  ObservePlan plan;
  std::string credentials;
};
/// @throws InputError, ErrorList for a configuration or a secret that cannot be used
[[nodiscard]] CiExports ci_exports(const CiSending& how);
/// Sends the metrics of a run; what a server does not take is told in `out`, with exit code 5.
void ci_send(const CiSending& how, const CiExports& exports, const CiReport& report, const CiMatrix& matrix,
             std::uint64_t time, Answer& out);
/// Predicts the matrix, compares, stores, sends and reports. Exit codes 0, 1, 3 and 4 as CiReport says; 2 is
/// a matrix that cannot be used, 5 a report or a history that could not be written, or a server that took
/// nothing.
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
  std::string history, matrix, older_than, time;       ///< older_than: "90 day"
  std::string push, job = "mlsysim", credentials_env;  ///< a gateway instead of a history
  std::optional<std::size_t> keep;
  bool dry_run = false;
};
/// Removes the groups of a job that a matrix does not fill any more from a gateway.
[[nodiscard]] Answer ci_prune_groups(const CiPruneRequest& request, const RenderOptions& options);
/// Removes old commits, and cells that the matrix has not any more.
[[nodiscard]] Answer ci_prune(const CiPruneRequest& request, const RenderOptions& options);
/// Exit code 1 where there is a bad commit, as a script of git bisect expects of a bad state.
[[nodiscard]] Answer ci_bisect(const CiHistoryRequest& request, const RenderOptions& options);

}  // namespace mlsysim::cli
