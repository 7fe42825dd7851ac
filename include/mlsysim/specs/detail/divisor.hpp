#pragma once
/// How devices are divided evenly where nobody says how.

#include <cmath>

namespace mlsysim::detail {

/// So many numbers are tried below the most that a part may have: counts come from whoever asks.
inline constexpr int kDivisorsTried = 65536;

/// The largest part of at most `most` that divides a whole number, of those that are tried; 1 where none
/// does.
inline double divisor_at_most(double most, double whole) {
  for (int i = 0; i < kDivisorsTried && most - i > 1; ++i)
    if (std::fmod(whole, most - i) == 0) return most - i;
  return 1;
}

}  // namespace mlsysim::detail
