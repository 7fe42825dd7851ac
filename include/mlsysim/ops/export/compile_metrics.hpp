#pragma once
/// Compile records as Prometheus metrics, and as log records in logfmt, JSON lines, CSV or Loki's push
/// format.
///
/// Metrics count breaks by reason, graphs, operators, guards and times of each model. A model without breaks
/// has a sample of 0, so that "no breaks" differs from "not run". Log records hold one break each.
/// Example: with `Aliases::compile_breaks`, seven breaks of type "Dynamic shape operator" in model m, commit
/// abc, give
///   compile_breaks_total{commit="abc",model="m",reason="Dynamic shape operator"} 7

#include <mlsysim/ops/export/metrics.hpp>
#include <mlsysim/ops/graph_breaks/ingest.hpp>

namespace mlsysim {

/// Whether the names of the first dashboards are written too: compile_breaks_total{model,commit,reason}.
enum class Aliases : std::uint8_t { none, compile_breaks };

/// The metrics of the records. The label `reason` is the type of a break.
[[nodiscard]] std::vector<MetricFamily> compile_metrics(const CompileRecords& records, Aliases aliases);

/// One log record for each break, a million at most. A reason may hold any text.
struct LogRecord {
  std::uint64_t time = 0;  ///< ns since 1970
  std::vector<std::pair<std::string, std::string>> fields;
};
[[nodiscard]] std::vector<LogRecord> compile_log(const CompileRecords& records, std::uint64_t time);

/// One line a record: key=value, quoted and escaped where needed.
[[nodiscard]] std::string logfmt_text(const std::vector<LogRecord>& log);
/// Parses the output of `logfmt_text`: one list of fields per line. @throws InputError
[[nodiscard]] std::vector<std::vector<std::pair<std::string, std::string>>> read_logfmt(
    std::string_view text);
/// One JSON object a line.
[[nodiscard]] std::string json_lines(const std::vector<LogRecord>& log);
/// RFC 4180 with the names of the first record as head.
[[nodiscard]] std::string csv_text(const std::vector<LogRecord>& log);
/// Whether a line has its fields as structured metadata, too; servers before Loki 3 refuse that.
enum class LokiMetadata : std::uint8_t { structured, none };
/// Bodies of Loki's push API, each of at most 1000 records and about 1 MB. Labels are service_name, job and
/// kind; model, commit, reason and the rest are structured metadata, and in the line in any case. Times
/// within a stream strictly increase.
[[nodiscard]] std::vector<std::string> loki_bodies(const std::vector<LogRecord>& log, const std::string& job,
                                                   const std::string& kind = "compile_break",
                                                   LokiMetadata metadata = LokiMetadata::structured);

}  // namespace mlsysim
