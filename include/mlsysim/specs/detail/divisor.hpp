#pragma once
/// The default way to divide a number of devices evenly: the largest divisor up to a limit.
///
///     divisor_at_most(most, whole) = max d with d = most, most - 1, ... and whole mod d = 0
///
/// Only 65,536 candidates below `most` are tried. The result is 1 where none of them divides.
/// Example: `divisor_at_most(6, 16)` is 4, and `divisor_at_most(5, 7)` is 1.

#include <cmath>

namespace mlsysim::detail {

/// Candidates that are tried, because users choose the counts.
inline constexpr int kDivisorsTried = 65536;

/// The largest divisor of `whole` up to `most`.
inline double divisor_at_most(double most, double whole) {
  for (int i = 0; i < kDivisorsTried && most - i > 1; ++i)
    if (std::fmod(whole, most - i) == 0) return most - i;
  return 1;
}

}  // namespace mlsysim::detail
