#pragma once
/// Rows as they stand in the file, and inputs of a row as a text.

#include <mlsysim/validation/measured_table.hpp>

#include <span>
#include <string>
#include <string_view>

namespace mlsysim::detail {

/// Equal for repeats of one measurement. @param without inputs that do not count
[[nodiscard]] std::string row_key(const Measurand& measurand, const void* inputs,
                                  std::span<const std::string_view> without = {});
/// `rows_of`, with repeats of a measurement `merged` to their median or each for itself.
[[nodiscard]] MeasuredRows rows_with(const MeasuredTable& table, const Zoo& zoo, bool merged);

}  // namespace mlsysim::detail
