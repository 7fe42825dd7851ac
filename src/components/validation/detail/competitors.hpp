#pragma once
/// Compares answers without a model: the nearest row's value, and the median of repeated measurements.

#include <mlsysim/validation/calibrate.hpp>

#include <optional>
#include <span>
#include <string>

namespace mlsysim {

/// Medians of |e - measured| / measured; none where there is nothing to take them from.
struct Competitors {
  std::optional<double> neighbour;  ///< e is the value of the row with the nearest other inputs
  std::optional<double> repeats;    ///< e is the median of all measurements with the same inputs
};

/// Looks each row up among the others: the nearest is that with the least sum of |log(a / b)| over its
/// numbers, a word that differs counting as a factor of ten. At most 300 rows are asked about, spread evenly.
/// @throws as `rows_of`
[[nodiscard]] Competitors competitors_of(const MeasuredTable& table, const Zoo& zoo);

/// Markdown: for each table the data sheet alone, constants fitted without the group, constants of the zoo,
/// the look-up and the repeats; which share of the records is answered, and what intervals hold over groups
/// and tables that are left out.
[[nodiscard]] std::string honest_columns(std::span<const TableResult> results,
                                         std::span<const Calibration> calibrations, const Zoo& zoo);

}  // namespace mlsysim
