#pragma once
/// Commands for what compilers of models leave behind.

#include "commands.hpp"

#include <mlsysim/ops/graph_breaks/ingest.hpp>
#include <mlsysim/ops/regression/breaks.hpp>
#include <mlsysim/plot/report_page.hpp>
#include <mlsysim/report/table.hpp>

#include <string>
#include <vector>

namespace mlsysim::cli {

struct IngestRequest {
  std::vector<std::string> paths;
  IngestHow how;
  std::string by = "type";  ///< or "place"
  bool strict = false, keep_duplicates = false, document = false, force = false;
  std::string html;   ///< file for a page
  std::string graph;  ///< a form: the graphs of the records, cut at their breaks
};
/// Runs, breaks and phases. @throws InputError
[[nodiscard]] Answer compile_ingest(const IngestRequest& request, const RenderOptions& options);
/// Bars of each commit by reason, and every break with a choice of category.
[[nodiscard]] ReportPart breaks_part(const CompileRecords& all);
/// Differences between two sets of records, with a choice of new, gone, more, fewer and same.
[[nodiscard]] ReportPart break_changes_part(const CompileRecords& before, const CompileRecords& after);
/// "new", "gone", "more", "fewer" or "same".
[[nodiscard]] std::string_view verdict_of(const BreakPlace& place);
/// The same as one page that needs nothing else. @param tables behind the breaks
[[nodiscard]] std::string compile_page(const CompileRecords& all, const std::vector<Table>& tables);
/// How long compiling takes by graph, operator and guard, fitted to records. @throws InputError
[[nodiscard]] Answer compile_calibrate(const IngestRequest& request, const RenderOptions& options);

struct CompileExportRequest {
  IngestRequest read;
  std::string format = "prometheus";
  bool alias = false;
  std::string push, job = "mlsysim", loki, otlp;  ///< URLs; nothing is sent where they are empty
  std::vector<std::string> groups;                ///< "label=value", of the key of a push
  std::string credentials_env;                    ///< variable with "user:password"
  std::string time;                               ///< ns since 1970; of the clock where empty
  double wait = 1;                                ///< seconds before a second try
  double timeout = 10;                            ///< seconds that one try may take
  bool best_effort = false;                       ///< a server that does not answer is a warning
  bool delete_group = false;                      ///< the group goes, and nothing is read
  bool no_metadata = false;                       ///< lines of Loki without structured metadata
};
/// Breaks as metrics or as lines, written and, where URLs are given, sent. Exit code 5 where sending failed.
[[nodiscard]] Answer compile_export(const CompileExportRequest& request);

struct CompileDiffRequest {
  std::string before, after;
  IngestHow how;
  std::string workload, hardware, metric;  ///< nothing is priced where the first two are empty
  std::vector<std::string> inputs;         ///< NAME=VALUE of CompilationModel and TailLatencyModel
};
/// Compares the graph breaks of two sets of records, and estimates the cost where a workload is named. The
/// exit code is 1 where the estimate is worse, or without one where there are more breaks.
[[nodiscard]] Answer compile_diff(const CompileDiffRequest& request, const RenderOptions& options);

}  // namespace mlsysim::cli
