#pragma once
/// Event stream of the library: one event for each pipeline, stage, sweep step, search step and break.
///
/// An `Observer` is a pipeline callback. It turns each call into an `Event` and hands that event to every
/// sink. A sink that throws gets no further events, and the run goes on. One observer serves one thread. With
/// `EventTimes::none` no event holds a time of the clock, and two runs give the same bytes.
/// Example: a pipeline of two stages gives pipeline_start, twice stage_start and stage_end, then
/// pipeline_end.

#include <mlsysim/pipeline/callbacks.hpp>
#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/resolver_api/dynamic_value.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

struct Progress;

enum class EventKind : std::uint8_t {
  pipeline_start,
  pipeline_end,
  stage_start,
  stage_end,
  skip,
  error,
  infeasible,
  optimizer,       ///< candidates that an optimizer has searched so far
  sweep,           ///< points of a space that were evaluated so far
  breaks,          ///< a stage without a full answer
  callback_failed  ///< a sink or another callback threw
};
template <>
inline constexpr auto names_of<EventKind> = ChoiceNames{
    "kind of events", "pipeline_start", "pipeline_end", "stage_start", "stage_end", "skip",
    "error",          "infeasible",     "optimizer",    "sweep",       "break",     "callback_failed"};

/// One number, flag or text of a result.
struct EventField {
  std::string_view name;
  DynamicValue value;
};

/// One event. Valid during the call only.
struct Event {
  EventKind kind = EventKind::stage_start;
  std::uint64_t time = 0;  ///< ns since 1970; a count of events where times are left out
  std::uint64_t run = 0;   ///< which run of a pipeline, or which sweep, from 1
  std::string_view commit, pipeline, stage, resolver, family, model, hardware, status, reason;
  double seconds = 0;                     ///< of an end; 0 where times are left out
  double done = 0, total = 0;             ///< of a search or a sweep; total 0 where it is not known
  BreakReason why{};                      ///< of a break
  std::span<const EventField> results{};  ///< of a stage's end
};

/// Receives events. The report of the run and the other sinks name a sink that throws.
class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;
  virtual void take(const Event& event) = 0;
  /// Writes all buffered events. It is called once, at the end. @throws InputError
  virtual void finish() {}
};

/// Whether events hold times of the clock.
enum class EventTimes : std::uint8_t { clock, none };

/// Passes every event to its sinks.
class Observer final : public Callback {
 public:
  Observer(std::string commit, EventTimes times) : commit_(std::move(commit)), times_(times) {}
  /// @param name by which its failure is known
  void add(std::shared_ptr<EventSink> sink, std::string name = "sink") {
    sinks_.push_back({std::move(sink), std::move(name)});
  }
  [[nodiscard]] bool empty() const { return sinks_.empty(); }

  [[nodiscard]] std::string name() const override { return "observer"; }
  void on_pipeline_start(const Run& run) override;
  void on_pipeline_end(const Run& run, double seconds) override;
  void on_stage_start(const StageEvent& e) override { stage(EventKind::stage_start, e); }
  void on_stage_end(const StageEvent& e) override { stage(EventKind::stage_end, e); }
  void on_skip(const StageEvent& e) override { stage(EventKind::skip, e); }
  void on_error(const StageEvent& e) override { stage(EventKind::error, e); }
  void on_infeasible(const StageEvent& e) override { stage(EventKind::infeasible, e); }
  void on_break(const BreakEvent& e) override;
  void on_progress(const ProgressEvent& e) override;
  void on_sweep(const SweepEvent& e) override;
  /// Finishes every sink that has not failed. Afterwards it throws the first failure that no run reported.
  /// @throws InputError
  void finish();

 private:
  [[nodiscard]] Event event(EventKind kind);
  void stage(EventKind kind, const StageEvent& e);
  [[nodiscard]] Event event(EventKind kind, const StageEvent& e);
  /// Hands an event to every sink. @return the exception of the first sink that failed, or null
  [[nodiscard]] std::exception_ptr told(const Event& e);
  void tell(const Event& e);
  void tell_failure(const std::string& what);

  struct Kept {
    std::shared_ptr<EventSink> sink;
    std::string name;
    bool failed = false;
  };
  /// The one value of all stages of a run; empty where they have several, or none.
  struct Common {
    std::string text;
    bool several = false;
    void see(std::string_view value);
  };

  std::string commit_, pipeline_;
  EventTimes times_;
  std::uint64_t runs_ = 0, count_ = 0, breaks_ = 0;  // breaks of the current run
  std::vector<Kept> sinks_;
  Common model_, family_, hardware_;
  std::exception_ptr
      late_;  // of a sweep, whose callbacks may not throw: one sink does not silence the others
  std::vector<EventField> fields_;
};

}  // namespace mlsysim
