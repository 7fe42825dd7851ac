#pragma once
/// Predicts every row of a measured table and compares: errors, worst rows, other yardsticks and ablations.
///
///   error = (predicted - measured) / measured
///
/// An ablation sets constants to values at which one term of the model vanishes, such as launch times to 0. A
/// row without a prediction is left out with the reason. Textbook and roofline cover the rows that operators
/// answer.
/// Example: 10 ms measured and 11.5 ms predicted: error +15 %.

#include <mlsysim/validation/measured_table.hpp>
#include <mlsysim/validation/statistics.hpp>

#include <memory>
#include <string>
#include <vector>

namespace mlsysim {

/// A row with its prediction.
struct PredictedRow {
  std::size_t row = 0;  ///< of the file
  std::string label, group;
  double measured = 0, predicted = 0;  ///< base unit of the measurand
  std::vector<PredictionTerm> terms{};
  std::shared_ptr<const void> inputs{};  ///< of the measurand; kept with the terms

  [[nodiscard]] double error() const { return (predicted - measured) / measured; }
};

/// One term of the model removed by setting constants.
struct Ablation {
  std::string_view name, meaning;
  std::vector<ConstantValue> neutral;  ///< values at which the term vanishes
};
/// All ablations: launch, wave, split, shares, latency, protocol, overlap.
[[nodiscard]] const std::vector<Ablation>& ablations();

struct AblationResult {
  std::string_view name;
  ErrorStatistics errors;
};

/// A table under one set of constants.
struct TableResult {
  const MeasuredTable* table = nullptr;
  std::size_t records = 0;         ///< of the file
  std::vector<LeftOut> left_out;   ///< by rule, and rows without a prediction
  std::vector<PredictedRow> rows;  ///< operator fidelity
  ErrorStatistics errors, textbook,
      roofline;  ///< the last two over `rows`; fewer where they have no answer to some
  std::vector<AblationResult> ablations;  ///< those that change the table, over `rows` as well
  std::vector<PredictedRow> worst;        ///< with their terms, the worst first
};

/// Whether a run also compares other fidelities and ablations.
enum class Depth : std::uint8_t { ours, everything };

/// Predicts every row of a table.
/// @param constants the parameters to predict with; null: those of the zoo
/// @param worst     how many rows to keep with their terms, the worst first
/// @throws as `rows_of`
[[nodiscard]] TableResult validate(const MeasuredTable& table, const Zoo& zoo,
                                   Depth depth = Depth::everything, const Constants* constants = nullptr,
                                   std::size_t worst = 5);

/// The prediction of one row. An error becomes its reason.
[[nodiscard]] Prediction predict(const Measurand& measurand, const void* inputs,
                                 const PredictionContext& context);

}  // namespace mlsysim
