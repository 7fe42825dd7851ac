#include <mlsysim/ops/events/events.hpp>

#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/resolver_api/dynamic_value.hpp>
#include <mlsysim/resolver_api/search.hpp>
#include <mlsysim/specs/workload.hpp>
#include <mlsysim/specs/zoo.hpp>

#include <chrono>
#include <set>
#include <utility>

namespace mlsysim {
namespace {

/// The model or the device among the inputs of a stage; null where it has none.
ObjectRef input_object(const StageEvent& e, std::string_view field) {
  const auto* f = find_field(e.resolver.inputs(), field);
  if (f == nullptr) return {};
  const auto value = f->read(e.inputs);
  const auto* object = std::get_if<ObjectRef>(&value);
  return object != nullptr ? *object : ObjectRef();
}

}  // namespace

Event Observer::event(EventKind kind) {
  Event out{.kind = kind, .time = ++count_, .run = runs_, .commit = commit_, .pipeline = pipeline_};
  if (times_ == EventTimes::clock)
    out.time = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                              std::chrono::system_clock::now().time_since_epoch())
                                              .count());
  return out;
}

void Observer::Common::see(std::string_view value) {
  if (value.empty() || several) return;
  several = !text.empty() && text != value;
  text = several ? std::string() : std::string(value);
}

std::exception_ptr Observer::told(const Event& e) {
  std::exception_ptr first;
  for (auto& kept : sinks_) {
    if (kept.failed) continue;
    std::string what = "an exception that is no std::exception";
    try {
      kept.sink->take(e);
      continue;
    } catch (const std::exception& error) {
      if (first == nullptr) first = std::current_exception();
      what = error.what();
    } catch (...) {
      if (first == nullptr) first = std::current_exception();
    }
    kept.failed = true;
    tell_failure(kept.name + ": " + what);
  }
  return first;
}

void Observer::tell(const Event& e) {
  if (const auto fault = told(e); fault != nullptr) std::rethrow_exception(fault);
}

void Observer::tell_failure(const std::string& what) {
  auto e = event(EventKind::callback_failed);
  e.reason = what;
  // Each failure leaves one sink less, so this ends.
  if (const auto fault = told(e); fault != nullptr && late_ == nullptr) late_ = fault;
}

void Observer::on_pipeline_start(const Run& run) {
  ++runs_;
  breaks_ = 0;
  pipeline_ = run.pipeline().name();
  model_ = family_ = hardware_ = {};
  tell(event(EventKind::pipeline_start));
}

void Observer::on_pipeline_end(const Run& run, double seconds) {
  const auto own = name();
  std::set<std::string_view> named{own};  // its own sinks were named when they failed
  for (const auto& f : run.report().callback_failures)
    if (named.insert(f.who).second) tell_failure(f.who + " in " + f.event + ": " + f.what);
  auto e = event(EventKind::pipeline_end);
  e.model = model_.text;
  e.family = family_.text;
  e.hardware = hardware_.text;
  bool all = breaks_ == 0;
  for (const auto& s : run.stages()) all = all && s.ok();
  e.status = all ? "ok" : "incomplete";
  e.seconds = times_ == EventTimes::clock ? seconds : 0;
  tell(e);
}

Event Observer::event(EventKind kind, const StageEvent& s) {
  auto e = event(kind);
  e.stage = s.stage;
  e.resolver = s.resolver.info().name;
  const auto model = input_object(s, "workload");
  e.model = spec_name(model);
  if (model.object != nullptr && model.type == ObjectType<Workload>::name)
    e.family = static_cast<const Workload*>(model.object)->category;
  e.hardware = spec_name(input_object(s, "hardware"));
  e.status = name_of(s.status);
  e.reason = s.reason;
  e.seconds = times_ == EventTimes::clock ? s.seconds : 0;
  return e;
}

void Observer::stage(EventKind kind, const StageEvent& s) {
  auto e = event(kind, s);
  fields_.clear();
  if (kind == EventKind::stage_end)
    for (const auto& f : s.resolver.outputs()) fields_.push_back({f.name, read_dynamic(f, s.result)});
  e.results = fields_;
  model_.see(e.model);
  family_.see(e.family);
  hardware_.see(e.hardware);
  tell(e);
}

void Observer::on_break(const BreakEvent& b) {
  ++breaks_;
  auto e = event(EventKind::breaks, b.at);
  e.why = b.why;
  tell(e);
}

void Observer::on_progress(const ProgressEvent& p) {
  if (p.search == nullptr) return;  // the end of the stage says the same
  auto e = event(EventKind::optimizer);
  e.stage = p.stage;
  e.done = static_cast<double>(p.search->searched);
  tell(e);
}

void Observer::on_sweep(const SweepEvent& s) {
  if (s.done == 0 || pipeline_ != s.title) ++runs_;
  pipeline_ = s.title;
  auto e = event(EventKind::sweep);
  e.done = s.done;
  e.total = s.total;
  if (const auto fault = told(e); fault != nullptr && late_ == nullptr) late_ = fault;
}

void Observer::finish() {
  std::exception_ptr first = std::exchange(late_, nullptr);
  for (auto& kept : sinks_) {
    if (kept.failed) continue;
    try {
      kept.sink->finish();
    } catch (...) {
      kept.failed = true;
      if (first == nullptr) first = std::current_exception();
    }
  }
  if (first != nullptr) std::rethrow_exception(first);
}

}  // namespace mlsysim
