#pragma once
/// Scorecard of a scenario: feasibility (memory), performance (time, rates, bottleneck) and macro (cost,
/// energy, carbon).
///
/// Each level passes, fails or is skipped. A scenario that does not fit comes with changes that make it fit.
/// Example: Llama3_70B on 8x H100, 16 requests in one burst, 2,048 tokens in, 512 out: 22.1 of 85.9 GB on
/// each device, TTFT 1.288 s, ITL 11.11 ms, 1,176 output tokens/s, decode limited by memory.

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

/// A change that would make an infeasible scenario feasible, checked with the memory model.
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
  std::string lengths;  ///< of the requests of a served model, in words
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

/// Whether an assumption is a parameter of a device that was not measured, so that the value of its class
/// stands in.
[[nodiscard]] bool rests_on_class(const Assumption& assumption);

}  // namespace mlsysim
