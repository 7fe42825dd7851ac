#pragma once
/// The current date in UTC, which a new zoo entry states as the day on which it was recorded.
///
/// Example: "2026-11-23".

#include <string>

namespace mlsysim::detail {

/// The date as year, month and day.
[[nodiscard]] std::string today();

}  // namespace mlsysim::detail
