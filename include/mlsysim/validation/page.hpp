#pragma once
/// Writes the documentation pages on accuracy, in Markdown: errors by topic, by table, and on left-out
/// groups.
///
///   error of a topic = median over its tables of the median |predicted - measured| / measured
///
/// Equal inputs give equal bytes.
/// Example: the entry `{device: H100, tables: [energy/ml_energy_llm_h100], constants: [draw.work,
/// draw.resident]}` of calibrations.yaml is a check with what "device", name "H100", one table and two
/// constants.

#include <mlsysim/validation/calibrate.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// A device or engine, and the tables on which its constants are checked by leaving groups out.
struct CalibrationCheck {
  std::string what;  ///< "device" or "engine"
  std::string name;
  std::vector<std::string> tables;
  std::vector<std::string> constants;  ///< fields to fit; empty: all that matter to a row
};

/// @param file empty for zoo/validation/calibrations.yaml of the shipped zoo
/// @throws InputError, ErrorList with every fault of the file
[[nodiscard]] std::vector<CalibrationCheck> read_calibration_checks(const std::filesystem::path& file = {});

/// Errors by topic, the tables with the largest errors, and errors on groups that a fit has not seen.
[[nodiscard]] std::string accuracy_page(std::span<const TableResult> results,
                                        std::span<const Calibration> calibrations);

/// Every table with its left-out rows and its worst rows, the fitted constants of each device, and errors on
/// groups that a fit has not seen.
[[nodiscard]] std::string accuracy_tables_page(std::span<const TableResult> results,
                                               std::span<const Calibration> calibrations, const Zoo& zoo);

}  // namespace mlsysim
