#pragma once
/// Bisection: the place between two ends where a condition changes.

#include <cmath>
#include <type_traits>
#include <utility>

namespace mlsysim::detail {

/// The ends of [low, high] after halving, until they are `close` to each other in relation to the upper one,
/// or `most` times.
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
