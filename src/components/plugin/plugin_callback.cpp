#include "detail/plugin_callback.hpp"

#include <mlsysim/pipeline/run.hpp>

#include <deque>

namespace mlsysim::plugin::detail {

MlsEvent PluginCallback::event(std::int32_t kind, const Run& run) {
  MlsEvent e{};
  e.struct_size = sizeof e;
  e.kind = kind;
  e.pipeline = plugin::to_c(run.pipeline().name());
  return e;
}

void PluginCallback::on_pipeline_start(const Run& run) {
  if (about().on_event) code_->event(index_, event(MLS_EVENT_PIPELINE_START, run));
}

void PluginCallback::on_pipeline_end(const Run& run, double seconds) {
  if (!about().on_event) return;
  auto e = event(MLS_EVENT_PIPELINE_END, run);
  e.seconds = seconds;
  code_->event(index_, e);
}

void PluginCallback::stage(std::int32_t kind, const StageEvent& s) {
  if (!about().on_event) return;
  auto e = event(kind, s.run);
  e.stage = plugin::to_c(s.stage);
  e.resolver = plugin::to_c(s.resolver.info().name);
  e.reason = plugin::to_c(s.reason);
  e.seconds = s.seconds;
  std::vector<MlsNamed> results;
  std::deque<Value> values;  // texts live here
  if (kind == MLS_EVENT_STAGE_END)
    for (const auto& f : s.resolver.outputs()) {
      const auto dynamic = read_dynamic(f, s.result);
      values.push_back(dynamic.value);
      results.push_back({plugin::to_c(f.name), detail::to_c(values.back(), dynamic.exps, objects_)});
    }
  e.results = results.data();
  e.result_count = results.size();
  code_->event(index_, e);
}

void PluginCallback::on_break(const BreakEvent& b) {
  if (!about().on_break) return;
  const auto& why = mlsysim::about(b.why);
  MlsBreak e{};
  e.struct_size = sizeof e;
  e.pipeline = plugin::to_c(b.at.run.pipeline().name());
  e.stage = plugin::to_c(b.at.stage);
  e.resolver = plugin::to_c(b.at.resolver.info().name);
  e.id = plugin::to_c(why.id);
  e.reason = plugin::to_c(name_of(b.why));
  e.severity = plugin::to_c(why.severity);
  e.text = plugin::to_c(b.at.reason);
  e.hint = plugin::to_c(why.hint);
  code_->broke(index_, e);
}

void PluginCallback::on_progress(const ProgressEvent& p) {
  if (p.search != nullptr) on_sweep({.title = p.stage, .done = static_cast<double>(p.search->searched)});
}

void PluginCallback::on_sweep(const SweepEvent& s) {
  if (!about().on_sweep) return;
  MlsSweep e{};
  e.struct_size = sizeof e;
  e.title = plugin::to_c(s.title);
  e.done = s.done;
  e.total = s.total;
  e.seconds_left = s.seconds_left;
  code_->swept(index_, e);
}

}  // namespace mlsysim::plugin::detail
