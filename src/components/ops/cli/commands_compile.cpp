#include "cli/commands_compile.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/model_graphs/program_graph.hpp>
#include <mlsysim/ops/export/commit.hpp>
#include <mlsysim/ops/export/compile_metrics.hpp>
#include <mlsysim/ops/export/credentials.hpp>
#include <mlsysim/ops/export/push.hpp>
#include <mlsysim/ops/graph_breaks/compile_time.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace mlsysim::cli {
namespace {

std::string place_text(const SourceLine& place) {
  return place.file.empty() ? std::string() : fmt::format("{}:{} {}", place.file, place.line, place.function);
}

Table runs_table(const CompileRecords& all) {
  Table table{.schema = "mlsysim/compile_runs@1",
              .title = "Compile runs",
              .columns = {{"family"},
                          {"model"},
                          {"commit"},
                          {"torch"},
                          {"form"},
                          {"status"},
                          {"frames"},
                          {"graphs"},
                          {"breaks"},
                          {"listed"},
                          {"ops"},
                          {"guards"},
                          {"compile_time", "s"},
                          {"restarts"},
                          {"lost_to_restarts", "s"},
                          {"recompiles"},
                          {"cache_hits"},
                          {"cache_misses"},
                          {"faults"}}};
  for (const auto& r : all.records)
    table.rows.push_back({r.family, r.model, r.commit, r.torch, name_of(r.form), r.status, r.frames,
                          r.graph_count, r.graph_breaks, r.listed(), r.op_count, r.guards, r.compile_time,
                          r.restarts, r.lost_to_restarts, r.recompiles, r.cache_hits, r.cache_misses,
                          r.read.faults()});
  return table;
}

Table breaks_table(const CompileRecords& all, BreaksBy by) {
  Table table{.schema = "mlsysim/compile_breaks@1",
              .title = by == BreaksBy::type ? "Breaks by type" : "Breaks by place",
              .columns = {{"breaks"}, {"models"}, {"type"}, {"category"}, {"id"}, {"place"}, {"hint"}}};
  double unlisted = 0;
  for (const auto& r : all.records) unlisted += r.unlisted();
  for (const auto& g : groups_of(all, by))
    table.rows.push_back(
        {g.count, g.models, g.type, name_of(g.category), g.gb_id, place_text(g.place), g.hint});
  if (unlisted > 0)
    table.footer = fmt::format("{:g} more breaks are counted by their source, without a reason", unlisted);
  return table;
}

Table phases_table(const CompileRecords& all) {
  Table table{.schema = "mlsysim/compile_phases@1",
              .title = "Compile time by phase",
              .columns = {{"model"}, {"phase"}, {"runs"}, {"time", "s"}}};
  for (const auto& r : all.records)
    for (const auto& p : r.phases) table.rows.push_back({r.model, p.name, p.runs, p.time});
  return table;
}

std::string diagnostics_of(const CompileRecords& all) {
  std::string out;
  const auto note = [&](const std::string& text) { out += fmt::format("mlsysim: note: {}\n", text); };
  for (const auto& n : all.notes) note(n);
  for (const auto& r : all.records) {
    for (const auto& n : r.notes) note(fmt::format("{}: {}", r.source, n));
    if (r.read.faults() > 0)
      note(fmt::format("{}: {:g} faults, see 'read' in -o json", r.source, r.read.faults()));
    if (!r.error.empty()) note(fmt::format("{}: {}", r.model, r.error.substr(0, r.error.find('\n'))));
  }
  for (const auto& d : all.duplicates)
    for (const auto& other : d.others) note(fmt::format("{} has the same content as {}", other, d.counted));
  return out;
}

CompileRecords records_of(const IngestRequest& request) {
  auto how = request.how;
  how.damage = request.strict ? Damage::refused : Damage::counted;
  how.duplicates = request.keep_duplicates ? Duplicates::kept : Duplicates::once;
  return ingest({request.paths.begin(), request.paths.end()}, how);
}

std::vector<std::string> lines_of(const CompileExportRequest& request, const std::vector<LogRecord>& log) {
  return loki_bodies(log, request.job, "compile_break",
                     request.no_metadata ? LokiMetadata::none : LokiMetadata::structured);
}

std::string exported(const CompileExportRequest& request, const std::vector<MetricFamily>& metrics,
                     const std::vector<LogRecord>& log, std::uint64_t time) {
  const auto& form = request.format;
  if (form == "prometheus") return prometheus_text(metrics);
  if (form == "openmetrics") return open_metrics_text(metrics);
  if (form == "otlp") return otlp_metrics_json(metrics, time);
  if (form == "logfmt") return logfmt_text(log);
  if (form == "jsonl") return json_lines(log);
  if (form == "csv") return csv_text(log);
  std::string out;
  for (const auto& body : lines_of(request, log)) out += body + "\n";
  return out;
}

PushGroup group_of(const CompileExportRequest& request) {
  PushGroup out{request.push, request.job, {}};
  for (const auto& text : request.groups) {
    const auto at = text.find('=');
    if (at == std::string::npos || at == 0)
      throw InputError({.id = "mlsysim.telemetry.010",
                        .message = "a part of the key of a group cannot be read",
                        .found = fmt::format("'{}'", text),
                        .expected = "LABEL=VALUE",
                        .hint = "write --group family=Audio"});
    out.labels[text.substr(0, at)] = text.substr(at + 1);
  }
  return out;
}

/// Metrics of records, not too many of a name.
struct Metrics {
  std::vector<MetricFamily> families;
  std::string said;  ///< how many samples went into others
};
Metrics metrics_of(const CompileRecords& records, const CompileExportRequest& request) {
  Metrics out{.families = compile_metrics(records, request.alias ? Aliases::compile_breaks : Aliases::none),
              .said = {}};
  for (auto& family : out.families)
    if (const auto folded = fold_labels(family, {}); folded > 0)
      out.said +=
          fmt::format("mlsysim: warning: {}: {} series are added up under 'other'\n", family.name, folded);
  return out;
}

/// Records by the family of their models: each is a group of a gateway, so that a push of one leaves the
/// others.
std::map<std::string, CompileRecords> by_family(const CompileRecords& all) {
  std::map<std::string, CompileRecords> out;
  for (const auto& r : all.records) out[r.family].records.push_back(r);
  return out;
}

/// Sends to one server after another. A server that refuses does not keep the next from its turn.
/// @return the refusals
std::vector<std::string> send_all(const CompileExportRequest& request, const CompileRecords& all,
                                  const std::vector<MetricFamily>& metrics, const std::vector<LogRecord>& log,
                                  std::uint64_t time) {
  Sending what;
  what.credentials = credentials_in(request.credentials_env);
  what.wait = request.wait;
  what.timeout = request.timeout;
  std::vector<std::string> refused;
  const auto to = [&](std::string url, const char* method, const char* type, std::string body) {
    what.url = std::move(url);
    what.method = method;
    what.type = type;
    what.body = std::move(body);
    try {
      send(what);
      return true;
    } catch (const InputError& error) {
      if (!error.id().ends_with("006")) throw;
      refused.emplace_back(error.what());
      return false;
    }
  };
  if (!request.push.empty())
    for (const auto& [family, records] : by_family(all)) {
      auto group = group_of(request);
      if (!family.empty()) group.labels.try_emplace("model_family", family);
      const auto own = metrics_of(records, request).families;
      if (!to(push_url(group, own), "PUT", "text/plain; version=0.0.4", prometheus_text(own))) break;
    }
  if (!request.otlp.empty()) to(request.otlp, "POST", "application/json", otlp_metrics_json(metrics, time));
  if (!request.loki.empty())
    for (auto& body : lines_of(request, log))
      if (!to(request.loki + "/loki/api/v1/push", "POST", "application/json", std::move(body))) break;
  return refused;
}

}  // namespace

namespace {

Answer group_deleted(const CompileExportRequest& request) {
  if (request.push.empty() || !request.read.paths.empty())
    throw InputError({.id = "mlsysim.telemetry.014",
                      .message = "a group is deleted at a gateway, and nothing is read for it",
                      .key = "--delete-group",
                      .found = request.push.empty() ? "no --push" : "files to read",
                      .expected = "--push URL, --job and --group as it was pushed"});
  const auto group = group_of(request);
  const Sending what{.url = push_url(group, {}),
                     .method = "DELETE",
                     .credentials = credentials_in(request.credentials_env),
                     .wait = request.wait,
                     .timeout = request.timeout};
  try {
    send(what);
  } catch (const InputError& error) {
    if (!error.id().ends_with("006")) throw;
    return {{}, fmt::format("mlsysim: error: {}\n", error.what()), static_cast<Exit>(5)};
  }
  return {fmt::format("the group {} is not at {} any more\n", group.job, masked_url(request.push))};
}

}  // namespace

Answer compile_export(const CompileExportRequest& request) {
  if (request.delete_group) return group_deleted(request);
  if (request.read.paths.empty())
    throw InputError({.id = "mlsysim.telemetry.015",
                      .message = "nothing is there to export",
                      .key = "PATH",
                      .found = "no path",
                      .expected = "files and folders",
                      .hint = "mlsysim graph-breaks export runs/"});
  const auto all = records_of(request.read);
  const auto [metrics, said] = metrics_of(all, request);
  Answer out{.diagnostics = diagnostics_of(all) + said};
  const auto time = time_given(request.time);
  const bool lines = !request.loki.empty() || request.format == "logfmt" || request.format == "jsonl" ||
                     request.format == "csv" || request.format == "loki";
  const auto log = lines ? compile_log(all, time) : std::vector<LogRecord>();
  out.payload = exported(request, metrics, log, time);
  // The computed output is the answer, even where a server refuses it.
  for (const auto& what : send_all(request, all, metrics, log, time)) {
    out.diagnostics += fmt::format("mlsysim: {}: {}\n", request.best_effort ? "warning" : "error", what);
    if (!request.best_effort) out.exit = static_cast<Exit>(5);
  }
  return out;
}

Answer compile_calibrate(const IngestRequest& request, const RenderOptions& options) {
  const auto all = records_of(request);
  const auto fit = fit_compile_time(all);
  Table table{.schema = "mlsysim/compile_calibrate@1",
              .title = "Compile time by graphs, operators and guards",
              .columns = {{"record"},
                          {"graphs"},
                          {"ops"},
                          {"guards"},
                          {"measured", "s"},
                          {"fitted", "s"},
                          {"residual", "s"}}};
  for (const auto& p : fit.points)
    table.rows.push_back(
        {p.source, p.graphs, p.operators, p.guards, p.measured, p.fitted, p.measured - p.fitted});
  const auto part = [](const Time<>& t) { return pretty(AnyQuantity(t), 4); };
  table.footer = fmt::format("compile_time = {} a graph + {} an operator + {} a guard", part(fit.per_graph),
                             part(fit.per_operator), part(fit.per_guard));
  for (const auto& t : {fit.per_graph, fit.per_operator, fit.per_guard})
    if (t < Time<>()) {
      table.footer += "; a part is below zero, so these records do not tell it from the others";
      break;
    }
  return {render(table, options), diagnostics_of(all)};
}

namespace {

/// The graphs of each record in their order; between two of them the break that cuts them, where the source
/// lists as many.
DrawnGraph graph_of_records(const CompileRecords& all) {
  constexpr double most = 5000;  // graphs of one record that are drawn one by one
  DrawnGraph out{
      .title = fmt::format("graphs and breaks of {} records", all.records.size()), .nodes = {}, .edges = {}};
  for (const auto& r : all.records) {
    const auto count =
        static_cast<std::size_t>(std::min(std::max(1.0, std::max(r.graph_count, r.graph_breaks + 1)), most));
    std::vector<std::string> cuts;
    for (const auto& b : r.breaks)
      for (double n = 0; n < b.count && static_cast<double>(cuts.size()) < most; ++n)
        cuts.push_back(b.place().file.empty()
                           ? b.type
                           : fmt::format("{} at {}:{}", b.type, b.place().file, b.place().line));
    for (std::size_t i = 0; i < count; ++i) {
      const double operators = i < r.graphs.size() ? r.graphs[i].op_count : count == 1 ? r.op_count : 0;
      out.nodes.push_back({.name = fmt::format("{}: graph {}", r.model, i), .operators = operators});
      // A log may hold several functions: what begins one of them is no break.
      if (i > 0 && static_cast<double>(i) <= r.graph_breaks)
        out.edges.push_back({out.nodes.size() - 2, out.nodes.size() - 1, 0,
                             i - 1 < cuts.size() ? cuts[i - 1] : std::string("no reason is listed")});
    }
  }
  return out;
}

}  // namespace

Answer compile_ingest(const IngestRequest& request, const RenderOptions& options) {
  const files::WriteHow page{.replace = request.force ? files::Replace::any : files::Replace::own,
                             .mark = "<title>Compile records</title>"};
  if (!request.html.empty()) files::check_target(request.html, page);
  const auto all = records_of(request);
  Answer out{.diagnostics = diagnostics_of(all)};
  if (!request.graph.empty()) {
    out.payload = drawn(graph_of_records(all), choice_of<GraphForm>(request.graph).value_or(GraphForm::dot));
    return out;
  }
  if (request.document) {
    if (all.records.size() != 1)
      throw InputError({.id = "mlsysim.compile.009",
                        .message = "a document holds one record",
                        .found = fmt::format("{} records", all.records.size()),
                        .expected = "one file",
                        .hint = "name one file for each document"});
    out.payload = explain_document(all.records.front());
    return out;
  }
  if (!request.html.empty())
    files::write(request.html, compile_page(all, {runs_table(all), phases_table(all)}), page);
  const auto by = request.by == "place" ? BreaksBy::place : BreaksBy::type;
  if (options.format == OutputFormat::json)
    out.payload = report_json(all);
  else if (options.format == OutputFormat::csv)
    out.payload = render(breaks_table(all, by), options);
  else
    out.payload = render(runs_table(all), options) + "\n" + render(breaks_table(all, by), options) + "\n" +
                  render(phases_table(all), options);
  return out;
}

}  // namespace mlsysim::cli
