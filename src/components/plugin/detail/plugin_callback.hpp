#pragma once
/// A callback of a plugin as an observer like any other.

#include "code.hpp"
#include "objects.hpp"

#include <mlsysim/pipeline/callbacks.hpp>

namespace mlsysim::plugin::detail {

class PluginCallback final : public Callback {
 public:
  PluginCallback(std::shared_ptr<PluginCode> code, std::size_t index, ObjectTable& objects)
      : code_(std::move(code)), index_(index), objects_(objects) {}
  [[nodiscard]] std::string name() const override { return about().name; }
  void on_pipeline_start(const Run& run) override;
  void on_pipeline_end(const Run& run, double seconds) override;
  void on_stage_start(const StageEvent& e) override { stage(MLS_EVENT_STAGE_START, e); }
  void on_stage_end(const StageEvent& e) override { stage(MLS_EVENT_STAGE_END, e); }
  void on_skip(const StageEvent& e) override { stage(MLS_EVENT_STAGE_SKIPPED, e); }
  void on_error(const StageEvent& e) override { stage(MLS_EVENT_STAGE_ERROR, e); }
  void on_infeasible(const StageEvent& e) override { stage(MLS_EVENT_STAGE_INFEASIBLE, e); }
  void on_break(const BreakEvent& e) override;
  void on_sweep(const SweepEvent& e) override;
  void on_progress(const ProgressEvent& e) override;

 private:
  [[nodiscard]] const CallbackDescription& about() const { return code_->description().callbacks[index_]; }
  [[nodiscard]] static MlsEvent event(std::int32_t kind, const Run& run);
  void stage(std::int32_t kind, const StageEvent& e);

  std::shared_ptr<PluginCode> code_;
  std::size_t index_;
  ObjectTable& objects_;
};

}  // namespace mlsysim::plugin::detail
