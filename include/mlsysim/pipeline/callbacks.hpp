#pragma once
/// Callbacks that observe a run: they see names, results and times, and cannot change anything.
///
/// Example: a run of three stages calls `on_pipeline_start`, for each stage `on_stage_start` and
/// `on_stage_end`, and last `on_pipeline_end`. A device without a TDP makes its stage call `on_infeasible`
/// and `on_break`.

#include <mlsysim/pipeline/breaks.hpp>
#include <mlsysim/resolver_api/resolver.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace mlsysim {

class Run;
struct SearchProgress;

/// How a stage of a run stands.
enum class StageStatus : std::uint8_t { waiting, ok, infeasible, skipped, failed };
template <> inline constexpr auto names_of<StageStatus> = ChoiceNames{"stage status"};

/// One stage of one run, as a callback sees it. Valid during the call only.
struct StageEvent {
  const Run& run;
  std::string_view stage;
  const Resolver& resolver;
  const void* inputs;  ///< struct described by `resolver.inputs()`
  const void* result;  ///< struct described by `resolver.outputs()`; holds a result in on_stage_end only
  StageStatus status = StageStatus::waiting;
  double seconds = 0;
  std::string_view reason{};        ///< of a skip, an error or infeasibility
  const Infeasible* why = nullptr;  ///< of infeasibility
  std::exception_ptr error{};       ///< of an error
};

/// How far a run has come.
struct ProgressEvent {
  std::string_view stage;
  std::size_t done = 0, total = 0;         ///< stages
  const SearchProgress* search = nullptr;  ///< while the stage searches
};

/// A stage without a full answer. It follows the error, the infeasibility or the end that it is of: a stage
/// that is ok has a break for each of its warnings that is no remark, and the text is the reason.
struct BreakEvent {
  const StageEvent& at;
  BreakReason why{};  ///< `about(why)` has its id, severity and a hint
};

/// How far a sweep, an optimization or a front is.
struct SweepEvent {
  std::string_view title;      ///< what is swept: "Llama3_8B, serve", or the name of a resolver
  double done = 0, total = 0;  ///< points; done is total once, at the end
  double seconds_left = 0;     ///< an estimate
};

/// Base of all observers; override what you want to see. One that throws is named in the report of the run
/// and does not change it. Calls come from the thread that executes the run, end events exactly once, also
/// after errors.
class Callback {
 public:
  Callback() = default;
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  virtual ~Callback() = default;
  /// For reports about the callback itself.
  [[nodiscard]] virtual std::string name() const { return "callback"; }

  virtual void on_pipeline_start(const Run&) {}
  virtual void on_pipeline_end(const Run&, double /*seconds*/) {}
  virtual void on_stage_start(const StageEvent&) {}
  /// After a stage that gave a result.
  virtual void on_stage_end(const StageEvent&) {}
  virtual void on_skip(const StageEvent&) {}
  virtual void on_error(const StageEvent&) {}
  virtual void on_infeasible(const StageEvent&) {}
  virtual void on_progress(const ProgressEvent&) {}
  virtual void on_break(const BreakEvent&) {}
  /// Outside of runs, from any thread of the sweep but one at a time; see `SweepCallbacks`.
  virtual void on_sweep(const SweepEvent&) {}
};

}  // namespace mlsysim
