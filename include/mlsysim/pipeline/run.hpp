#pragma once
/// One run of a pipeline: the values that it was given, the results of its stages, and where each number came
/// from.
///
/// Executing runs only the stages whose inputs changed. A stage that is infeasible or fails skips those that
/// need it.
/// Example: stages of power, energy and carbon for a 700 W device over 30 days, PUE 1.1, 20 gCO2e/kWh give
/// 554.4 kWh and 11.09 kgCO2e. After `set("duration_days", 60)` the next execution runs 2 of the 3 stages.

#include <mlsysim/pipeline/callbacks.hpp>
#include <mlsysim/pipeline/pipeline.hpp>
#include <mlsysim/resolver_api/report.hpp>
#include <mlsysim/resolver_api/resolver_shape.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

class CancelToken;

/// How a run handles a callback that throws: note it in the report, or raise it once the run is over.
enum class CallbackFaults : std::uint8_t { record, raise };

struct RunOptions {
  std::vector<Callback*> callbacks{};  ///< called in this order; they outlive the execution
  CallbackFaults callback_faults = CallbackFaults::record;
  const CancelToken* cancel = nullptr;  ///< stops searches and skips the stages that have not started
  unsigned threads =
      1;  ///< above 1, stages that are thread_safe and do not depend on each other run side by side
  bool fail_fast = false;  ///< the first stage that fails or is infeasible keeps all later ones from running
  bool notes = false;      ///< keeps what stages note, so that `notes` need not run them once more
};

/// A stage without a full answer.
struct StageBreak {
  std::string stage;
  BreakReason why{};
  std::string text;
};

/// Failures, counts and time of a run, beside its results.
struct PipelineReport {
  struct Failure {
    std::string who;    ///< stage, or callback
    std::string event;  ///< of a callback: "on_stage_end"
    std::string what;
  };
  std::vector<Failure> stage_failures;
  std::vector<Failure> callback_failures;
  std::size_t executed = 0;  ///< stages that the last execution ran; the others were up to date or skipped
  double seconds = 0;        ///< of the last execution, when callbacks watched it
};

/// The outcome of one stage, seen from outside. The run outlives it.
class StageView {
 public:
  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] const Resolver& resolver() const { return *resolver_; }
  [[nodiscard]] StageStatus status() const { return status_; }
  [[nodiscard]] bool ok() const { return status_ == StageStatus::ok; }
  /// Whether it has a result that says that the setup does not fit: a field `feasible` that is false.
  [[nodiscard]] bool does_not_fit() const;
  /// Why there is no result; null when there is one, or when the stage never ran.
  [[nodiscard]] const Infeasible* why() const { return why_; }
  /// Why the stage was skipped or failed.
  [[nodiscard]] std::string_view reason() const { return reason_; }
  /// A field of the result. @throws LookupError with near misses; SolverError when there is no result
  [[nodiscard]] DynamicValue operator[](std::string_view field) const;
  /// A field of the inputs. @throws LookupError with near misses
  [[nodiscard]] DynamicValue input(std::string_view field) const;
  /// The struct described by `resolver().outputs()`. @throws SolverError when there is no result
  [[nodiscard]] const void* result() const;

 private:
  friend class Run;
  std::string_view name_, reason_;
  const Resolver* resolver_ = nullptr;
  StageStatus status_ = StageStatus::waiting;
  const Infeasible* why_ = nullptr;
  const void *in_ = nullptr, *out_ = nullptr;
};

/// Values and results of one run. Set values, execute, read, and repeat.
///
/// After the first execution, executing neither allocates nor looks up names. Not for use by several threads
/// at once. Movable.
class Run {
 public:
  explicit Run(const Pipeline& pipeline);
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  /// Supplies a value; "model" means "workload". An equal value changes nothing; an object always counts as
  /// changed.
  /// @throws LookupError for a key that the pipeline does not declare
  Run& set(std::string_view key, const DynamicValue& value);
  /// Place of a key for `set(index, value)`, for callers that set it often.
  [[nodiscard]] std::size_t index_of(std::string_view key) const;
  Run& set(std::size_t index, const DynamicValue& value);
  /// Sets a bare number in the canonical base unit. Dimension and range are checked when it is used.
  Run& set_number(std::size_t index, double base);

  /// Runs every stage whose inputs changed, in order.
  ///
  /// An infeasible stage is a result: what needs it is skipped with the reason. A stage that throws does not
  /// keep independent stages from running; the first error is rethrown at the end, unchanged in type, with
  /// its stage as context.
  /// @throws InputError for missing values; what stages throw
  Run& execute();
  Run& execute(const RunOptions& options);

  [[nodiscard]] const Pipeline& pipeline() const;
  /// A stage by name. @throws LookupError with near misses
  [[nodiscard]] StageView operator[](std::string_view stage) const;
  /// All stages, in the order in which they run.
  [[nodiscard]] std::vector<StageView> stages() const;
  /// A value by key: a given one, or a result field that one stage has; "Stage.field" is never ambiguous.
  /// @throws LookupError when there is none or several
  [[nodiscard]] DynamicValue value(std::string_view key) const;
  /// The result of the only stage of a resolver type, or of the one of this name.
  /// @throws LookupError when there is none or several, SolverError when it has no result
  template <class R> [[nodiscard]] const result_of<R>& get(std::string_view stage = {}) const {
    return *static_cast<const result_of<R>*>(typed_result(&detail::type_tag_v<R>, detail::id_of<R>(), stage));
  }

  [[nodiscard]] const PipelineReport& report() const;
  /// Defaults used and assumptions noted by a stage, each with its source.
  [[nodiscard]] std::vector<Assumption> assumptions(std::string_view stage) const {
    return notes(stage).assumptions;
  }
  /// Assumptions and warnings of a stage. The stage runs once more unless RunOptions::notes kept them.
  [[nodiscard]] NoteBook notes(std::string_view stage) const;
  /// Stages that failed or are infeasible, and those whose answer rests on less than it should, once for
  /// each warning of `notes` that is no remark. A run without breaks is complete: what was skipped was so
  /// because of one.
  [[nodiscard]] std::vector<StageBreak> breaks() const;
  /// Checks the answer of a stage against its equation.
  [[nodiscard]] Verification verify(std::string_view stage) const;
  /// Where a number came from: stage, law, source, and its inputs in turn, as indented lines.
  /// @throws LookupError as `value` does
  [[nodiscard]] std::string explain(std::string_view key) const;
  /// All values, with units, as JSON.
  [[nodiscard]] std::string to_json() const;
  /// All stages with their results as lines of text.
  [[nodiscard]] std::string show() const;

 private:
  [[nodiscard]] const void* typed_result(const void* tag, std::string_view type,
                                         std::string_view stage) const;
  [[nodiscard]] std::vector<StageBreak> breaks_of(std::string_view stage, const NoteBook& notes) const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mlsysim
