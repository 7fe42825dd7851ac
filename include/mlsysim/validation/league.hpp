#pragma once
/// Predictions of others beside ours, on the same rows of the same tables.

#include <mlsysim/validation/validate.hpp>

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim {

/// Predictions of another tool for rows of the tables.
struct OutsidePredictions {
  std::string tool;
  std::map<std::pair<std::string, std::size_t>, double>
      values;  ///< by table and row, in the measurand's unit
};

/// Reads `table,row,predicted` with the rows of `rows_to_predict`; an empty value is no answer.
/// @param tool its name and version, as the page shows it
/// @throws InputError, LookupError with the place in the file
[[nodiscard]] OutsidePredictions read_predictions(std::string tool, const std::filesystem::path& file);

/// CSV of all rows that are compared: table, row, what it is, the unit of a prediction, and an empty column
/// for it.
[[nodiscard]] std::string rows_to_predict(std::span<const TableResult> results);

/// Markdown: this program, the textbook, the data sheet, the nearest measured row and other tools by topic,
/// with the median of |error| over rows and the share of rows that each answers; and each other tool against
/// this program on the rows that both answer.
/// @throws LookupError for predictions of a table or row that there is not
[[nodiscard]] std::string league_page(std::span<const TableResult> results, const Zoo& zoo,
                                      std::span<const OutsidePredictions> others);

}  // namespace mlsysim
