#pragma once
/// Numbers of validation results as text.

#include <mlsysim/validation/validate.hpp>

#include <string>

namespace mlsysim::detail {

/// "3.5 %"; with a sign where `sign` is set.
[[nodiscard]] std::string percent(double share, bool sign = false);
/// A share of a comparison; with its rows where they are not all rows of the table, empty where there are
/// none: "3.5 % (4 rows)".
[[nodiscard]] std::string percent_of(double share, const ErrorStatistics& compared,
                                     const TableResult& result);
/// A value of the table's measurand for readers.
[[nodiscard]] std::string shown(double base, const MeasuredTable& table);
[[nodiscard]] std::string terms_text(const PredictedRow& row, const MeasuredTable& table);
[[nodiscard]] std::size_t left_out_rows(const TableResult& result);
[[nodiscard]] Exponents exponents_of(const Measurand& measurand);

}  // namespace mlsysim::detail
