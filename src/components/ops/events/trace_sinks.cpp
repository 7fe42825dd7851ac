// Events as traces: Chrome's form for files, and spans of OpenTelemetry.

#include "ops/events/sinks.hpp"

#include <mlsysim/units/detail/fnv.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace mlsysim {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t nanoseconds(double seconds) { return static_cast<std::uint64_t>(std::llround(seconds * 1e9)); }

/// One X event for each pipeline and each stage that ended, whatever the end; marks for breaks; counters for
/// searches and for memory. Events of a lane (a thread of the viewer) lie in each other or beside each other,
/// as the format wants it: stages that ran side by side have lanes of their own.
class Chrome final : public EventSink {
 public:
  explicit Chrome(const std::filesystem::path& file) : file_(file, "{\"traceEvents\":") {
    file_.append("{\"traceEvents\":[\n");
  }
  void take(const Event& e) override {
    Json args = Json::object();
    switch (e.kind) {
      case EventKind::pipeline_start:
        (void)microseconds(e.time);  // from which all times are counted
        begun_at_.push_back(e.time);
        return;
      case EventKind::stage_start:
        return;  // ends hold both
      case EventKind::skip:
      case EventKind::breaks:
      case EventKind::callback_failed:
        return put(Json{{"name", std::string(e.kind == EventKind::breaks ? name_of(e.why)
                                             : e.kind == EventKind::skip ? "skipped"
                                                                         : name_of(e.kind))},
                        {"cat", name_of(e.kind)},
                        {"ph", "i"},
                        {"s", "t"},
                        {"ts", microseconds(e.time)},
                        {"pid", 1},
                        {"tid", 1},
                        {"args", {{"stage", e.stage}, {"detail", e.reason}}}});
      case EventKind::optimizer:
      case EventKind::sweep:
        return put(Json{{"name", std::string(e.stage.empty() ? e.pipeline : e.stage)},
                        {"cat", name_of(e.kind)},
                        {"ph", "C"},
                        {"ts", microseconds(e.time)},
                        {"pid", 1},
                        {"tid", 1},
                        {"args", {{"done", e.done}}}});
      case EventKind::pipeline_end:
      case EventKind::stage_end:
      case EventKind::error:
      case EventKind::infeasible:
        break;
    }
    memory(e);
    args["status"] = e.status;
    if (!e.reason.empty()) args["detail"] = e.reason;
    for (const auto& r : e.results)
      if (auto text = detail::value_text(r.value); !text.empty()) args[std::string(r.name)] = std::move(text);
    // A pipeline begins where it was said to begin, so that its stages lie in it.
    const bool whole = e.kind == EventKind::pipeline_end;
    const std::uint64_t outer = begun_at_.empty() ? 0 : begun_at_.back();
    auto begin = whole ? outer : e.time - std::min(e.time, nanoseconds(e.seconds));
    begin = std::min(std::max(begin, outer), e.time);
    if (whole && !begun_at_.empty()) begun_at_.pop_back();
    const double from = microseconds(begin), to = microseconds(e.time);
    const auto lane = lane_of(begin, e.time);
    put(Json{{"name", std::string(e.stage.empty() ? e.pipeline : e.stage)},
             {"cat", e.stage.empty() ? "pipeline" : "stage"},
             {"ph", "X"},
             {"ts", from},
             {"dur", to - from},
             {"pid", 1},
             {"tid", lane + 1},
             {"args", std::move(args)}});
  }
  void finish() override {
    file_.append("\n]}\n");
    file_.flush();
  }

 private:
  /// A track of what a stage says of memory, part by part.
  void memory(const Event& e) {
    Json bytes = Json::object();
    for (const auto& r : e.results)
      if (const auto* x = std::get_if<double>(&r.value.value);
          x != nullptr && r.value.exps == dim::data::exps)
        bytes[std::string(r.name)] = *x;
    if (bytes.empty()) return;
    put(Json{{"name", fmt::format("{}: memory [B]", e.stage)},
             {"cat", "memory"},
             {"ph", "C"},
             {"ts", microseconds(e.time)},
             {"pid", 1},
             {"tid", 1},
             {"args", std::move(bytes)}});
  }
  /// The first lane on which an event neither cuts one that is there nor is cut by it. Events come in the
  /// order of their ends, so each lane needs those alone that lie in no other.
  std::size_t lane_of(std::uint64_t begin, std::uint64_t end) {
    for (std::size_t i = 0;; ++i) {
      if (i == lanes_.size()) {
        lanes_.emplace_back();
        put(Json{{"name", "thread_name"},
                 {"ph", "M"},
                 {"pid", 1},
                 {"tid", i + 1},
                 {"args", {{"name", fmt::format("lane {}", i + 1)}}}});
      }
      auto& lane = lanes_[i];
      auto inside = lane.size();
      while (inside > 0 && lane[inside - 1].first >= begin) --inside;
      if (inside > 0 && lane[inside - 1].second > begin) continue;
      lane.resize(inside);
      lane.emplace_back(begin, end);
      return i;
    }
  }
  /// Counted from the first event: a double holds no nanoseconds since 1970.
  double microseconds(std::uint64_t time) {
    if (first_ == 0) first_ = time;
    return time < first_ ? 0.0 : static_cast<double>(time - first_) * 1e-3;
  }
  void put(const Json& event) {
    file_.append((begun_ ? ",\n" : "") + detail::json_text(event));
    begun_ = true;
  }
  detail::BufferedFile file_;
  std::uint64_t first_ = 0;
  bool begun_ = false;
  std::vector<std::uint64_t> begun_at_;                                      // of pipelines that run
  std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> lanes_;  // [ns]
};

Json attribute(std::string_view key, std::string_view value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}

/// Spans: a pipeline, and below it its stages, with breaks as their events.
class Otlp final : public detail::SendingSink {
 public:
  explicit Otlp(const ExportPlan& plan) : SendingSink(plan, "{\"resourceSpans\"") {}
  void take(const Event& e) override {
    switch (e.kind) {
      case EventKind::pipeline_start:
        root_ = ++ids_;
        return;
      case EventKind::breaks:
        if (!spans_.empty())
          spans_.back()["events"].push_back(
              {{"timeUnixNano", std::to_string(e.time)},
               {"name", "break"},
               {"attributes", {attribute("reason", name_of(e.why)), attribute("id", about(e.why).id)}}});
        return;
      case EventKind::callback_failed:
        if (!spans_.empty())
          spans_.back()["events"].push_back({{"timeUnixNano", std::to_string(e.time)},
                                             {"name", name_of(e.kind)},
                                             {"attributes", {attribute("detail", e.reason)}}});
        return;
      case EventKind::stage_end:
      case EventKind::error:
      case EventKind::infeasible:
      case EventKind::skip:
        return span(e, ++ids_, root_);
      case EventKind::pipeline_end:
        return span(e, root_, 0);
      case EventKind::stage_start:
      case EventKind::optimizer:
      case EventKind::sweep:
        return;
    }
  }
  void finish() override {
    const Json body{
        {"resourceSpans",
         {{{"resource",
            {{"attributes",
              {attribute("service.name", "mlsysim"), attribute("vcs.ref.head.revision", commit_)}}}},
           {"scopeSpans", {{{"scope", {{"name", "mlsysim"}}}, {"spans", spans_}}}}}}}};
    const auto text = detail::json_text(body) + "\n";
    write(text);
    if (!plan_.url.empty()) send(sending(text));
  }

 private:
  void span(const Event& e, std::uint64_t id, std::uint64_t parent) {
    commit_ = e.commit;
    Json attributes = Json::array();
    for (const auto& [name, text] : {std::pair{"status", e.status},
                                     {"resolver", e.resolver},
                                     {"model_family", e.family},
                                     {"model_name", e.model},
                                     {"hardware", e.hardware}})
      if (!text.empty()) attributes.push_back(attribute(name, text));
    for (const auto& r : e.results)
      if (auto text = detail::value_text(r.value); !text.empty())
        attributes.push_back(attribute("result." + std::string(r.name), text));
    const bool failed = e.kind == EventKind::error;
    spans_.push_back(
        {{"traceId", fmt::format("{:016x}{:016x}", hash(e), e.run)},
         {"spanId", fmt::format("{:016x}", id)},
         {"parentSpanId", parent == 0 ? std::string() : fmt::format("{:016x}", parent)},
         {"name", std::string(e.stage.empty() ? e.pipeline : e.stage)},
         {"kind", 1},
         {"startTimeUnixNano", std::to_string(e.time - std::min(e.time, nanoseconds(e.seconds)))},
         {"endTimeUnixNano", std::to_string(e.time)},
         {"attributes", std::move(attributes)},
         {"events", Json::array()},
         {"status", failed ? Json{{"code", 2}, {"message", e.reason}} : Json{{"code", 1}}}});
  }
  /// The high half of a trace id: a hash of the commit and of the first time that was seen.
  std::uint64_t hash(const Event& e) {
    if (first_ == 0) first_ = e.time;
    return detail::fnv1a(fmt::format("{} {}", e.commit, first_));
  }
  std::string commit_;
  std::vector<Json> spans_;
  std::uint64_t ids_ = 0, root_ = 0, first_ = 0;
};

}  // namespace

std::shared_ptr<EventSink> detail::trace_sink(const ExportPlan& plan) {
  if (plan.form == ExportForm::chrome) return std::make_shared<Chrome>(plan.file);
  return std::make_shared<Otlp>(plan);
}

}  // namespace mlsysim
