// Sends the results of ci run to servers, and deletes groups of a gateway for ci prune.

#include "cli/commands_ci.hpp"

#include "cli/output.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/ops/events/exporters.hpp>
#include <mlsysim/ops/export/commit.hpp>
#include <mlsysim/ops/export/credentials.hpp>
#include <mlsysim/ops/export/push.hpp>
#include <mlsysim/ops/regression/metrics.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/specs/workload.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::cli {
namespace {

constexpr int kNotSent = 5;  // exit code

/// Sends one thing; what a server does not take is told, and all else is sent all the same.
template <class F> void attempt(const CiSending& how, Answer& out, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    out.diagnostics +=
        how.best_effort ? fmt::format("mlsysim: warning: {}\n", error.what()) : error_text(error);
    if (!how.best_effort && out.exit == Exit::fine) out.exit = static_cast<Exit>(kNotSent);
  }
}

/// Each group of the run in place of what the gateway has of it.
void push(const std::string& url, const std::string& job, Sending what,
          const std::vector<MetricFamily>& metrics) {
  for (const auto& [labels, families] : by_group(metrics, kCiGroupLabels)) {
    what.url = push_url({url, job, labels}, families);
    what.method = "PUT";
    what.type = "text/plain; version=0.0.4";
    what.body = prometheus_text(families);
    send(what);
  }
}

void post(const std::string& url, Sending what, const std::vector<MetricFamily>& metrics,
          std::uint64_t time) {
  what.url = url;
  what.type = "application/json";
  what.body = otlp_metrics_json(metrics, time);
  send(what);
}

/// A run as events: the matrix as a pipeline, its cells as stages.
void tell(EventSink& sink, const CiReport& report, const CiMatrix& matrix, std::uint64_t time, bool clock) {
  std::uint64_t count = 0;
  const auto pipeline = matrix.file.stem().string();
  const auto event = [&](EventKind kind) {
    return Event{.kind = kind,
                 .time = clock ? time + count++ : ++count,
                 .run = 1,
                 .commit = report.commit,
                 .pipeline = pipeline};
  };
  sink.take(event(EventKind::pipeline_start));
  for (const auto& c : report.run.cells) {
    const auto name = c.cell.name();
    std::vector<EventField> results;
    for (const auto& n : c.numbers) results.push_back({n.name, {n.value, n.exps}});
    auto e = event(c.status == CellStatus::ok           ? EventKind::stage_end
                   : c.status == CellStatus::infeasible ? EventKind::infeasible
                                                        : EventKind::error);
    const auto* w = zoo().find<Workload>(c.cell.model);
    e.stage = name;
    e.resolver = c.cell.resolver;
    if (w != nullptr) e.family = w->category;
    e.model = c.cell.model;
    e.hardware = c.cell.hardware;
    e.status = name_of(c.status);
    e.reason = c.reason;
    e.results = results;
    sink.take(e);
    if (c.status == CellStatus::ok) continue;
    auto fault = event(EventKind::breaks);
    fault.stage = e.stage;
    fault.resolver = e.resolver;
    fault.family = e.family;
    fault.model = e.model;
    fault.hardware = e.hardware;
    fault.status = e.status;
    fault.reason = e.reason;
    fault.why = c.why;
    sink.take(fault);
  }
  auto end = event(EventKind::pipeline_end);
  end.status =
      report.run.complete && report.count(CellStatus::ok) == report.run.cells.size() ? "ok" : "incomplete";
  sink.take(end);
}

/// One exporter of an observability.yaml: numbers to those that take numbers, events to the others.
void export_one(const ExportPlan& plan, const CiReport& report, const CiMatrix& matrix,
                const std::vector<MetricFamily>& metrics, std::uint64_t time, bool clock) {
  if (!is_of_metrics(plan)) {
    const auto sink = sink_of(plan);
    tell(*sink, report, matrix, time, clock);
    sink->finish();
    return;
  }
  const Sending what{.credentials = plan.credentials.empty() ? "" : secret_of(plan.credentials),
                     .wait = plan.retry_wait,
                     .timeout = plan.timeout};
  if (!plan.file.empty())
    files::write(plan.file, prometheus_text(metrics),
                 {.replace = files::Replace::own, .mark = "# HELP mlsysim_", .forced = "another file"});
  if (plan.url.empty()) return;
  if (plan.form == ExportForm::otlp)
    post(plan.url, what, metrics, time);
  else
    push(plan.url, plan.job, what, metrics);
}

}  // namespace

CiExports ci_exports(const CiSending& how) {
  CiExports out;
  if (!how.observe.empty()) out.plan = read_observability(how.observe);
  out.credentials = credentials_in(how.credentials_env);
  if (!how.push.empty()) (void)push_url({how.push, how.job, {}}, {});  // refuses an empty job before all else
  return out;
}

void ci_send(const CiSending& how, const CiExports& exports, const CiReport& report, const CiMatrix& matrix,
             std::uint64_t time, Answer& out) {
  if (how.push.empty() && how.otlp.empty() && exports.plan.exporters.empty()) return;
  auto metrics = ci_metrics(report, zoo(), how.alias ? Aliases::compile_breaks : Aliases::none);
  for (auto& family : metrics)
    if (const auto folded = fold_labels(family, {}); folded > 0)
      out.diagnostics +=
          fmt::format("mlsysim: warning: {}: {} series are added up under 'other'\n", family.name, folded);
  const Sending what{.credentials = exports.credentials, .wait = how.wait, .timeout = how.timeout};
  if (!how.push.empty()) attempt(how, out, [&] { push(how.push, how.job, what, metrics); });
  if (!how.otlp.empty()) attempt(how, out, [&] { post(how.otlp, what, metrics, time); });
  const bool clock = exports.plan.times == EventTimes::clock;
  for (const auto& plan : exports.plan.exporters)
    attempt(how, out, [&] { export_one(plan, report, matrix, metrics, time, clock); });
}

Answer ci_prune_groups(const CiPruneRequest& request, const RenderOptions& options) {
  const auto credentials = credentials_in(request.credentials_env);
  const auto stay = ci_groups(read_matrix(request.matrix, zoo()), zoo());
  Table t{.schema = "mlsysim/ci_prune@1",
          .title = request.dry_run ? "What would go" : "What went",
          .columns = {{"what"}, {"name"}}};
  for (const auto& labels : groups_of_job(request.push, request.job, credentials)) {
    // A group with other labels is somebody else's, whatever its job.
    const bool own = std::all_of(labels.begin(), labels.end(), [](const auto& label) {
      return std::find(kCiGroupLabels.begin(), kCiGroupLabels.end(), label.first) != kCiGroupLabels.end();
    });
    if (!own || std::find(stay.begin(), stay.end(), labels) != stay.end()) continue;
    std::string name;
    for (const auto& [label, value] : labels)
      name += fmt::format("{}{}={}", name.empty() ? "" : ", ", label, value);
    if (!request.dry_run)
      send({.url = push_url({request.push, request.job, labels}, {}),
            .method = "DELETE",
            .credentials = credentials});
    t.rows.push_back({"group", name});
  }
  return {render(t, options)};
}

}  // namespace mlsysim::cli
