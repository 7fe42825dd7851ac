#pragma once
/// The day on which an entry is made.

#include <string>

namespace mlsysim::detail {

/// Today in UTC, as "2026-11-23".
[[nodiscard]] std::string today();

}  // namespace mlsysim::detail
