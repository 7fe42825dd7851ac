#pragma once
/// Bisection: the point between two ends where a condition changes.
///
/// Example: `halved(0, 2, 1e-6, 100, f)` with f(x) = x^2 < 2 is {1.4142132, 1.4142141}.
/// Example: `last_whole(1, 100, f)` with f(n) = n^2 <= 50 is 7.

#include <cmath>
#include <type_traits>
#include <utility>

namespace mlsysim::detail {

/// Ends of [low, high] after halving until high - low <= close * high, at most `most` times.
/// @param below true below the answer and false above it
template <class Below>
[[nodiscard]] std::pair<double, double> halved(double low, double high, double close, int most,
                                               Below&& below) {
  for (int i = 0; i < most && high - low > high * close; ++i) {
    const double middle = (low + high) / 2;
    (below(middle) ? low : high) = middle;
  }
  return {low, high};
}

/// The last whole number, on the way from `in` to `out`, for which a condition holds; it holds at `in` and
/// not at `out`. Above 2^53 the next double is more than one away.
template <class T, class Holds> [[nodiscard]] T last_whole(T in, T out, Holds&& holds) {
  while ((in < out ? out - in : in - out) > 1) {
    T middle = (in + out) / 2;
    if constexpr (std::is_floating_point_v<T>) middle = std::floor(in / 2 + out / 2);
    if (middle == in || middle == out) break;
    (holds(middle) ? in : out) = middle;
  }
  return in;
}

}  // namespace mlsysim::detail
