#pragma once
/// Compares other tools with this one on the same measured rows, as one Markdown page.
///
///   error of a topic = median over its tables of the median |predicted - measured| / measured
///
/// Others: the textbook formula, the roofline, the nearest measured row, and CSV files of predictions by
/// other tools.
/// Example: a tool that predicts half of the rows of the only table of a topic 10 % too long has "10 % (50 %
/// of the rows)".

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

/// CSV of all compared rows: table, row, label, unit of a prediction, and an empty column for the prediction.
[[nodiscard]] std::string rows_to_predict(std::span<const TableResult> results);

/// The page: all tools by topic with the share of rows that each answers, then each other tool against this
/// program on the rows that both answer.
/// @throws LookupError for predictions of an unknown table or row
[[nodiscard]] std::string league_page(std::span<const TableResult> results, const Zoo& zoo,
                                      std::span<const OutsidePredictions> others);

}  // namespace mlsysim
