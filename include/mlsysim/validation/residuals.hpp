#pragma once
/// Explains why predictions differ from a user's own measurements, by the one term that removes most of the
/// residuals.
///
///   r = measured / predicted - 1      c = sum(x r) / sum(x^2)
///   factor = 1 + c      explained = max(0, 1 - sum((r - c x)^2) / sum(r^2))
///
/// x: share of the term in the predicted time, or 1 for "everything". For "fixed time", x = 1 / predicted
/// time, and c is the time itself. A rate is compared by the time behind it. Each term is scaled alone.
/// Example: two rows with r 0.1 and 0.4 and network shares 0.25 and 1: network factor 1.4 explains 100 %, and
/// "everything" with factor 1.25 explains 74 %.

#include <mlsysim/validation/validate.hpp>

#include <string>
#include <vector>

namespace mlsysim {

/// One explanation: the measured values are the predicted ones with one term scaled, or, for times and rates,
/// with a fixed time added.
struct ResidualCause {
  std::string term;       ///< "network", "launch", "fixed time", "everything"
  std::string advice;     ///< the likely cause if this explanation is the best
  double factor = 1;      ///< on the term; for "fixed time" the time [s]
  double explained = 0;   ///< share of the squared residuals that it removes
  ErrorStatistics after;  ///< relative errors with it
};

struct ResidualAnalysis {
  ErrorStatistics before;
  std::vector<PredictedRow> rows;           ///< with their terms
  std::vector<ResidualCause> explanations;  ///< best first
  std::vector<std::string> defaulted;       ///< inputs without a column: "precision (bf16)"
};

/// The explanations of a table, best first.
/// @throws InputError when no row was predicted, or the table is kept without being compared
[[nodiscard]] ResidualAnalysis analyse_residuals(const MeasuredTable& table, const Zoo& zoo);

/// A table from a CSV file whose columns are named like the inputs of a measurand, beside one named
/// `measured` or "measured [unit]" (the unit of the measurand where none is given). Other columns are labels;
/// one whose name is close to an input is refused unless it begins with "label ".
/// @throws LookupError, InputError, DimensionError naming file and column
[[nodiscard]] MeasuredTable table_of_measurements(const std::filesystem::path& csv,
                                                  const std::string& measurand);

/// The table of a file: a definition (.yaml), or a CSV file of what `measurand` measures.
/// @throws InputError where the measurand is missing, or stated twice
[[nodiscard]] MeasuredTable table_of_file(const std::string& file, const std::string& measurand);

}  // namespace mlsysim
