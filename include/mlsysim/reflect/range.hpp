#pragma once
/// The check that every count passes, and the words for an admissible range.
///
///     is_count(x) = |x| <= 1e15 and x = floor(x)
///
/// Example: `is_count(8)` holds, `is_count(2.5)` and `is_count(2e15)` do not.

#include <mlsysim/reflect/key.hpp>

#include <cmath>
#include <string>
#include <string_view>

namespace mlsysim {

/// The largest count. Above 2^53 = 9.007e15 neighboring whole numbers are one double, and a loop that counts
/// one by one would not end.
inline constexpr double kMostCount = 1e15;

/// False for NaN and infinities.
[[nodiscard]] inline bool is_count(double x) { return std::fabs(x) <= kMostCount && x == std::floor(x); }

/// "a value in [0, 1]", "at least 0 W", "a whole number from 1 to 1e+15"; ends are in the display unit.
/// Empty where there is no limit.
[[nodiscard]] std::string range_words(double low, double high, bool open_low, bool integral,
                                      std::string_view unit);

}  // namespace mlsysim
