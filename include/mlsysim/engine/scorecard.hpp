#pragma once
/// The scorecard: does it fit, how fast is it and what limits it, what does it cost and emit.

#include <mlsysim/engine/lazy_text.hpp>
#include <mlsysim/reflect/value.hpp>
#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/units/any_quantity.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// One number or text of a report.
struct Metric {
  SharedText name;  ///< "ttft"
  Value value;      ///< numbers in the base unit of `exps`
  Exponents exps{};
  SharedText unit;     ///< display unit; empty for counts, fractions and texts
  SharedText meaning;  ///< one line

  /// For a reader: "70.97 ms", "0.29", "memory".
  [[nodiscard]] std::string text(int digits = 4) const;
  /// The number in the display unit; throws InputError for texts.
  [[nodiscard]] double number() const;
};

/// A change that would make an infeasible scenario feasible, found by asking the memory model.
struct Remedy {
  std::string change;  ///< "precision fp8", "4 accelerators (tp_size 4)", "batch_size 12"
  std::string effect;  ///< "needs 44.1 GB of 85.9 GB"
};

/// One of the three levels, or a resolver that was asked for besides.
struct EvaluationLevel {
  enum class Status { pass, fail, skipped };
  std::string level_name;
  Status status = Status::pass;
  LazyText summary;
  std::vector<Metric> metrics;

  [[nodiscard]] const Metric* find(std::string_view name) const;
};
/// "PASS", "FAIL", "SKIPPED".
[[nodiscard]] std::string_view name_of(EvaluationLevel::Status status);

/// Answer to one scenario.
struct SystemEvaluation {
  std::string scenario_name;
  std::string workload, hardware;  ///< names
  std::string mode, fidelity;
  std::string load;     ///< how requests reach a served model, in words; empty in the other modes
  std::string runtime;  ///< software that runs the model, in words
  std::string guess;    ///< what of the model's shape is one; empty where it is known
  EvaluationLevel feasibility, performance, macro;
  std::vector<EvaluationLevel> further;  ///< one for each resolver of Scenario::also, under its name
  std::vector<Metric> memory;            ///< parts of the memory of one device, largest first
  std::vector<Remedy> remedies;          ///< when it does not fit
  std::vector<Assumption> assumptions;
  std::vector<std::string> warnings;

  /// The three levels, then `further`.
  [[nodiscard]] std::vector<const EvaluationLevel*> levels() const;
  /// Every level is PASS or SKIPPED.
  [[nodiscard]] bool passed_all() const;
  /// A metric by its plan name, "performance.ttft", "acme/Model.time"; null when there is none.
  [[nodiscard]] const Metric* find(std::string_view level_dot_metric) const;
};

/// Whether an assumption is a figure of a device for which nobody has measured it: that of its class.
[[nodiscard]] bool rests_on_class(const Assumption& assumption);

}  // namespace mlsysim
