// Events as metrics of Prometheus and as bodies of Loki.

#include "ops/events/sinks.hpp"

#include <mlsysim/files/detail/passing.hpp>
#include <mlsysim/ops/export/commit.hpp>
#include <mlsysim/ops/export/compile_metrics.hpp>
#include <mlsysim/ops/export/credentials.hpp>
#include <mlsysim/ops/export/detail/numbers.hpp>
#include <mlsysim/version.hpp>

#include <map>

namespace mlsysim {
namespace {

using Labels = std::map<std::string, std::string>;

/// Sums by labels, written at the end. A pipeline without breaks has a sample of 0: "none" and "not run" look
/// different.
class Metrics final : public detail::SendingSink {
 public:
  explicit Metrics(const ExportPlan& plan) : SendingSink(plan, "# HELP mlsysim_") {}
  void take(const Event& e) override {
    const std::string pipeline(e.pipeline), commit(e.commit);
    commit_ = commit;
    switch (e.kind) {
      case EventKind::pipeline_start:
        // The gauge is of the latest run.
        std::erase_if(latest_, [&](const auto& row) { return row.first.at("pipeline") == pipeline; });
        return;
      case EventKind::pipeline_end:
        runs_[{{"pipeline", pipeline}, {"commit", commit}, {"status", std::string(e.status)}}] += 1;
        failures_[{{"pipeline", pipeline}, {"commit", commit}}] += 0;
        breaks_.try_emplace(labels(e, "none"), 0.0);
        latest_.try_emplace(labels(e, "none"), 0.0);
        return;
      case EventKind::breaks:
        breaks_[labels(e, name_of(e.why))] += 1;
        latest_[labels(e, name_of(e.why))] += 1;
        return;
      case EventKind::callback_failed:
        failures_[{{"pipeline", pipeline}, {"commit", commit}}] += 1;
        return;
      case EventKind::stage_end:
        // Each model and device has a sample, also where nothing breaks.
        breaks_.try_emplace(labels(e, "none"), 0.0);
        latest_.try_emplace(labels(e, "none"), 0.0);
        [[fallthrough]];
      case EventKind::error:
      case EventKind::infeasible: {
        observe(seconds_[{{"pipeline", pipeline},
                          {"stage", std::string(e.stage)},
                          {"status", std::string(e.status)},
                          {"commit", commit}}],
                e.seconds);
        for (const auto& r : e.results)
          if (const auto* x = std::get_if<double>(&r.value.value))
            predicted_.add({{"pipeline", pipeline},
                            {"stage", std::string(e.stage)},
                            {"number", std::string(r.name)},
                            {"model_family", std::string(e.family)},
                            {"model_name", std::string(e.model)},
                            {"hardware", std::string(e.hardware)},
                            {"commit", commit}},
                           *x, r.value.exps);
        return;
      }
      case EventKind::sweep:
        if (e.total > 0) swept_[{{"sweep", pipeline}, {"commit", commit}}] = e.done;
        return;
      case EventKind::stage_start:
      case EventKind::skip:
      case EventKind::optimizer:
        return;
    }
  }
  void finish() override {
    const auto out = families();
    const auto text = prometheus_text(out);
    write(text);
    if (plan_.url.empty()) return;
    if (plan_.form == ExportForm::otlp) return send(sending(otlp_metrics_json(out, time_given({}))));
    auto what = sending({});
    what.method = "PUT";
    what.type = "text/plain; version=0.0.4";
    for (const auto& [key, families] : groups_of(out)) {
      what.url = push_url({plan_.url, plan_.job, key}, families);
      what.body = prometheus_text(families);
      send(what);
    }
  }

 private:
  /// A push takes the place of its own pipeline or sweep and of nothing else. What is of none of them, such
  /// as the version, goes with the first: a group of the job alone would be everybody's.
  /// Where nothing was run there is nothing to replace.
  static GroupedFamilies groups_of(const std::vector<MetricFamily>& all) {
    auto out = by_group(all, {"pipeline", "model_family", "sweep"});
    if (!out.empty() && out.begin()->first.empty()) {
      auto own = out.extract(out.begin());
      if (out.empty()) return out;
      auto& into = out.begin()->second;
      into.insert(into.end(), own.mapped().begin(), own.mapped().end());
    }
    return out;
  }
  static Labels labels(const Event& e, std::string_view reason) {
    return {{"pipeline", std::string(e.pipeline)}, {"model_family", std::string(e.family)},
            {"model_name", std::string(e.model)},  {"hardware", std::string(e.hardware)},
            {"reason", std::string(reason)},       {"commit", std::string(e.commit)}};
  }
  /// Times of stages, from a microsecond to ten seconds [s].
  static const std::vector<double>& bounds() {
    static const std::vector<double> all{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10};
    return all;
  }
  static void observe(MetricSample& into, double seconds) {
    into.counts.resize(bounds().size() + 1);
    for (std::size_t i = 0; i < into.counts.size(); ++i)
      if (i == bounds().size() || seconds <= bounds()[i]) into.counts[i] += 1;
    into.value += seconds;
  }
  [[nodiscard]] std::vector<MetricFamily> families() const {
    std::vector<MetricFamily> out;
    const auto add = [&](const char* name, const char* help, MetricType type,
                         const std::map<Labels, double>& sums) {
      if (sums.empty()) return;
      auto& f = out.emplace_back(MetricFamily{name, help, type, {}});
      for (const auto& [labels, value] : sums) f.samples.push_back({labels, value, {}});
    };
    add("mlsysim_runs_total", "Runs of pipelines by their end.", MetricType::counter, runs_);
    add("mlsysim_breaks_total", "Places without a full answer by reason; none has a 0.", MetricType::counter,
        breaks_);
    add("mlsysim_breaks", "Places without a full answer of the latest run by reason; none has a 0.",
        MetricType::gauge, latest_);
    add("mlsysim_callback_failures_total", "Callbacks and exporters that threw; none has a 0.",
        MetricType::counter, failures_);
    add("mlsysim_sweep_points", "Points of a sweep that have passed by.", MetricType::gauge, swept_);
    if (!seconds_.empty()) {
      auto& f = out.emplace_back(MetricFamily{
          "mlsysim_stage_duration_seconds", "Time of stages.", MetricType::histogram, {}, bounds()});
      for (const auto& [labels, sample] : seconds_)
        f.samples.push_back({labels, sample.value, {}, sample.counts});
    }
    for (auto& f : predicted_.families()) out.push_back(std::move(f));
    out.push_back({"mlsysim_build_info",
                   "Version of the library, and the commit that was run for.",
                   MetricType::gauge,
                   {{{{"version", std::string(version_text)}, {"commit", commit_}}, 1}}});
    MetricFamily folded{"mlsysim_folded_series",
                        "Series that were added up under 'other', by metric.",
                        MetricType::gauge,
                        {}};
    for (auto& f : out)
      if (const auto n = fold_labels(f, {}); n > 0)
        folded.samples.push_back({{{"metric", f.name}}, static_cast<double>(n)});
    if (!folded.samples.empty()) out.push_back(std::move(folded));
    return out;
  }
  std::string commit_ = "unknown";
  std::map<Labels, double> runs_, breaks_, latest_, failures_, swept_;
  std::map<Labels, MetricSample> seconds_;
  NumberFamilies predicted_{"mlsysim_predicted", "Last predicted number of a stage."};
};

/// Bodies of Loki's push API, each on a line of a file, or sent.
class Loki final : public detail::SendingSink {
 public:
  explicit Loki(const ExportPlan& plan) : SendingSink(plan, "{\"streams\"") {}
  void take(const Event& e) override {
    // Times within a stream increase strictly.
    last_ = std::max(last_ + 1, e.time);
    auto fields = detail::fields_of(e);
    std::erase_if(fields, [](const auto& f) { return f.second.empty() || f.second == "0"; });
    log_.push_back({.time = last_, .fields = std::move(fields)});
  }
  void finish() override {
    const auto bodies = loki_bodies(log_, plan_.job, "event");
    std::string all;
    for (const auto& b : bodies) all += b + "\n";
    write(all);
    if (plan_.url.empty()) return;
    for (const auto& b : bodies) {
      auto what = sending(b);
      what.url += "/loki/api/v1/push";
      send(what);
    }
  }

 private:
  std::vector<LogRecord> log_;
  std::uint64_t last_ = 0;
};

}  // namespace

namespace detail {

SendingSink::SendingSink(ExportPlan plan, std::string_view mark)
    : plan_(std::move(plan)),
      secret_(plan_.credentials.empty() ? "" : secret_of(plan_.credentials)),
      mark_(mark) {
  if (!plan_.file.empty()) files::check_target(plan_.file, how());
}
files::WriteHow SendingSink::how() const {
  return {.replace = files::Replace::own, .mark = mark_, .forced = "another file"};
}
void SendingSink::write(std::string_view text) const {
  if (!plan_.file.empty()) files::write_passing(plan_.file, text, how());
}
Sending SendingSink::sending(std::string body) const {
  return {.url = plan_.url,
          .type = "application/json",
          .body = std::move(body),
          .credentials = secret_,
          .wait = plan_.retry_wait,
          .timeout = plan_.timeout};
}

}  // namespace detail

std::shared_ptr<EventSink> detail::server_sink(const ExportPlan& plan) {
  if (plan.form != ExportForm::loki) return std::make_shared<Metrics>(plan);
  return std::make_shared<Loki>(plan);
}

}  // namespace mlsysim
