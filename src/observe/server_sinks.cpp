// Events as metrics of Prometheus and as bodies of Loki.

#include "observe/sinks.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/telemetry/compile_metrics.hpp>
#include <mlsysim/telemetry/credentials.hpp>
#include <mlsysim/telemetry/push.hpp>
#include <mlsysim/units/format.hpp>

#include <map>

namespace mlsysim {
namespace {

using Labels = std::map<std::string, std::string>;

/// Sums by labels, written at the end. A pipeline without breaks has a sample of 0: "none" and "not run" look
/// different.
class Metrics final : public EventSink {
 public:
  explicit Metrics(ExportPlan plan)
      : plan_(std::move(plan)), secret_(plan_.credentials.empty() ? "" : secret_of(plan_.credentials)) {
    if (!plan_.file.empty()) files::check_target(plan_.file, how());
  }
  void take(const Event& e) override {
    const std::string pipeline(e.pipeline), commit(e.commit);
    switch (e.kind) {
      case EventKind::pipeline_end:
        runs_[{{"pipeline", pipeline}, {"commit", commit}, {"status", std::string(e.status)}}] += 1;
        breaks_.try_emplace(labels(e, "none"), 0.0);
        return;
      case EventKind::breaks:
        breaks_[labels(e, name_of(e.why))] += 1;
        return;
      case EventKind::stage_end:
      case EventKind::error:
      case EventKind::infeasible: {
        Labels stage{{"pipeline", pipeline},
                     {"stage", std::string(e.stage)},
                     {"status", std::string(e.status)},
                     {"commit", commit}};
        stages_[stage] += 1;
        seconds_[std::move(stage)] += e.seconds;
        for (const auto& r : e.results)
          if (const auto* x = std::get_if<double>(&r.value.value))
            results_[{{"pipeline", pipeline},
                      {"stage", std::string(e.stage)},
                      {"result", std::string(r.name)},
                      {"unit", canonical_unit(r.value.exps)},
                      {"model_name", std::string(e.model)},
                      {"hardware", std::string(e.hardware)},
                      {"commit", commit}}] = *x;
        return;
      }
      case EventKind::sweep:
        if (e.total > 0) swept_[{{"sweep", pipeline}, {"commit", commit}}] = e.done;
        return;
      case EventKind::pipeline_start:
      case EventKind::stage_start:
      case EventKind::skip:
      case EventKind::optimizer:
        return;
    }
  }
  void finish() override {
    std::vector<MetricFamily> out;
    const auto add = [&](const char* name, const char* help, MetricType type,
                         const std::map<Labels, double>& sums) {
      if (sums.empty()) return;
      MetricFamily f{name, help, type, {}};
      for (const auto& [labels, value] : sums) f.samples.push_back({labels, value, {}});
      (void)fold_labels(f, {});
      out.push_back(std::move(f));
    };
    add("mlsysim_runs_total", "Runs of pipelines by their end.", MetricType::counter, runs_);
    add("mlsysim_breaks_total", "Places without a full answer by reason; none has a 0.", MetricType::counter,
        breaks_);
    add("mlsysim_stages_total", "Stages by their end.", MetricType::counter, stages_);
    add("mlsysim_stage_seconds_total", "Time of stages.", MetricType::counter, seconds_);
    add("mlsysim_result", "Last result of a stage, in the base unit that is a label.", MetricType::gauge,
        results_);
    add("mlsysim_sweep_points", "Points of a sweep that have passed by.", MetricType::gauge, swept_);
    const auto text = prometheus_text(out);
    if (!plan_.file.empty()) files::write(plan_.file, text, how());
    if (!plan_.url.empty())
      send({.url = push_url({plan_.url, plan_.job, {}}, out),
            .method = "PUT",
            .type = "text/plain; version=0.0.4",
            .body = text,
            .credentials = secret_,
            .wait = plan_.retry_wait});
  }

 private:
  static files::WriteHow how() {
    return {.replace = files::Replace::own, .mark = "# HELP mlsysim_", .forced = "another file"};
  }
  static Labels labels(const Event& e, std::string_view reason) {
    return {{"pipeline", std::string(e.pipeline)},
            {"model_name", std::string(e.model)},
            {"hardware", std::string(e.hardware)},
            {"reason", std::string(reason)},
            {"commit", std::string(e.commit)}};
  }
  ExportPlan plan_;
  std::string secret_;
  std::map<Labels, double> runs_, breaks_, stages_, seconds_, results_, swept_;
};

/// Bodies of Loki's push API, each on a line of a file, or sent.
class Loki final : public EventSink {
 public:
  explicit Loki(ExportPlan plan)
      : plan_(std::move(plan)), secret_(plan_.credentials.empty() ? "" : secret_of(plan_.credentials)) {
    if (!plan_.file.empty()) files::check_target(plan_.file, how());
  }
  void take(const Event& e) override {
    // Times within a stream increase strictly.
    last_ = std::max(last_ + 1, e.time);
    auto fields = detail::fields_of(e);
    std::erase_if(fields, [](const auto& f) { return f.second.empty() || f.second == "0"; });
    log_.push_back({.time = last_, .fields = std::move(fields)});
  }
  void finish() override {
    const auto bodies = loki_bodies(log_, plan_.job, "event");
    if (!plan_.file.empty()) {
      std::string all;
      for (const auto& b : bodies) all += b + "\n";
      files::write(plan_.file, all, how());
    }
    if (plan_.url.empty()) return;
    for (const auto& b : bodies)
      send({.url = plan_.url + "/loki/api/v1/push",
            .method = "POST",
            .type = "application/json",
            .body = b,
            .credentials = secret_,
            .wait = plan_.retry_wait});
  }

 private:
  static files::WriteHow how() {
    return {.replace = files::Replace::own, .mark = "{\"streams\"", .forced = "another file"};
  }
  ExportPlan plan_;
  std::string secret_;
  std::vector<LogRecord> log_;
  std::uint64_t last_ = 0;
};

}  // namespace

std::shared_ptr<EventSink> detail::server_sink(const ExportPlan& plan) {
  if (plan.form == ExportForm::prometheus) return std::make_shared<Metrics>(plan);
  return std::make_shared<Loki>(plan);
}

}  // namespace mlsysim
