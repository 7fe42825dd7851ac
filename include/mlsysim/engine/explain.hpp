#pragma once
/// Splits one number of a scenario into its terms, and lists the operators and device parameters behind it.
///
///   time = sum(count * time per execution) + dispatch + clock limit + host wait - hidden communication
///   share = time of a row / time
///
/// clock limit: time that caps on power and clock add. host wait: time until the host has launched the
/// kernels.
/// Example: ITL of Llama3_70B on 8x H100, 16 requests in one burst, 2,048 tokens in, 512 out: 11.11 ms. Its
/// largest term is ffn_up: 80 executions, 3.535 ms, 31.8 %, limited by memory.

#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/lowering/op.hpp>

#include <functional>
#include <string>
#include <vector>

namespace mlsysim {

/// Numbers that `explain` splits into terms in a scenario's mode, e.g. "ttft", "itl", "memory", "latency",
/// "step_latency". `explanation` of explore/subject/explanation.hpp derives all numbers of the scorecard.
[[nodiscard]] std::vector<std::string> explainable(const Scenario& scenario);

/// Derivation as text: the result, the terms that it is made of (largest first, small ones collapsed), the
/// law calls behind the largest terms with their inputs, and the assumptions with their sources.
/// @throws LookupError naming what can be explained
[[nodiscard]] std::string explain(const Scenario& scenario, std::string_view metric);

/// Extents of an operator, as those of Op.
struct OperatorShape {
  OpKind kind = OpKind::elementwise;
  double m = 0, n = 0, k = 0, copies = 1;
  double group_heads = 1;    ///< of an attention: query heads that share a key-value head
  bool stays_16bit = false;  ///< of a product: 16 bits where others are narrower

  static OperatorShape of(const Op<>& op) {
    return {op.kind, op.m, op.n, op.k, op.copies, op.group_heads, op.stays_16bit};
  }
};

/// The operator table of one pass, largest time first: name, count, work, traffic, time, what limits it.
struct OperatorRow {
  std::string name, group, pass, limit;
  double count = 0;
  double work = 0, traffic = 0, time = 0;  ///< FLOP, B, s of all executions
  double share = 0;                        ///< of the pass
  OperatorShape shape{};
};
[[nodiscard]] std::vector<OperatorRow> operator_table(const Scenario& scenario, std::string_view metric);

/// Figures of the device behind a scenario, each with its source; none for a device made by hand.
struct DeviceFigure {
  std::string figure;  ///< "H100.memory.bandwidth"
  std::string value;   ///< as it was authored
  std::string source;  ///< reference, kind and when it was checked
};
[[nodiscard]] std::vector<DeviceFigure> device_figures(const Scenario& scenario);

/// The terms of a number of a scenario. The rows are computed at once, the text when it is read.
struct NumberTerms {
  std::function<std::string()> text;   ///< what `explain` says; empty for a number that has no table of terms
  std::vector<OperatorRow> operators;  ///< `operator_table`, where the number is the time of listed operators
  std::vector<DeviceFigure> figures;
};
/// The text needs nothing of the scenario any more. @throws what SystemEvaluator::evaluate throws
[[nodiscard]] NumberTerms terms_behind(const Scenario& scenario, std::string_view metric);

}  // namespace mlsysim
