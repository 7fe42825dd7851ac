#pragma once
/// The gate that every count passes, wherever it comes from, and the words for a range.

#include <mlsysim/reflect/key.hpp>

#include <cmath>
#include <string>
#include <string_view>

namespace mlsysim {

/// The largest count, 10^15: above 2^53 = 9.007e15 neighboring whole numbers are one double, so that what
/// counts one by one or halves a range of counts would not end.
inline constexpr double kMostCount = 1e15;

/// Whether a number counts something: whole, and at most kMostCount. False for NaN and infinities.
[[nodiscard]] inline bool is_count(double x) { return std::fabs(x) <= kMostCount && x == std::floor(x); }

/// "a value in [0, 1]", "at least 0 W", "a whole number from 1 to 1e+15"; ends are in the display unit.
/// Empty where there is no limit.
[[nodiscard]] std::string range_words(double low, double high, bool open_low, bool integral,
                                      std::string_view unit);

}  // namespace mlsysim
