#pragma once
/// Why predictions differ from a user's own measurements: which term of the model explains the
/// residuals.

#include <mlsysim/validation/validate.hpp>

#include <string>
#include <vector>

namespace mlsysim {

/// One explanation: the measured values are the predicted ones with one term scaled, or, for times and rates,
/// with a fixed time added.
struct ResidualCause {
  std::string term;       ///< "network", "launch", "fixed time", "everything"
  std::string advice;     ///< what to look at when this one explains most
  double factor = 1;      ///< by which the term would have to be multiplied; of "fixed time" the time [s]
  double explained = 0;   ///< share of the squared residuals that it removes, at least 0
  ErrorStatistics after;  ///< relative errors with it
};

struct ResidualAnalysis {
  ErrorStatistics before;
  std::vector<PredictedRow> rows;           ///< with their terms
  std::vector<ResidualCause> explanations;  ///< best first
  std::vector<std::string> defaulted;       ///< inputs without a column: "precision (bf16)"
};

/// Explains residuals one term at a time, by least squares on values relative to their prediction (of a rate:
/// on times).
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
