#pragma once
/// Functions of laws for every scalar: `sum`, `repeat`, and `ceil_div` of quantities.
///
///   sum(x1, ..., xn)        = (x1 + x2) + ...              from left to right
///   repeat(count, state, f) = f(... f(f(state, 0), 1) ..., count - 1)
///   ceil_div(count, size)   = ceil(count / size)
///
/// Limits: a count above the bound of `repeat` (65,536 by default) throws DomainError.
/// Example: `repeat(3.0, 1.0, f)` with f(s, k) = s + k is 1 + 0 + 1 + 2 = 4. `ceil_div(10_GB, 3_GB)` is 4.

#include <mlsysim/scalars/recorder.hpp>
#include <mlsysim/units/quantity.hpp>

#include <array>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace mlsysim {

/// Number of blocks of `size` that cover `count`, both of one dimension.
template <class D, class T1, class T2>
[[nodiscard]] auto ceil_div(const Quantity<D, T1>& count, const Quantity<D, T2>& size) {
  return ceil(count.base() / size.base());
}

/// The order of the sum is part of the result.
template <class First, class... Rest> [[nodiscard]] constexpr First sum(First first, const Rest&... rest) {
  ((first = first + rest), ...);
  return first;
}
/// Sum of the elements from first to last; a default-constructed value if there are none.
template <class V> [[nodiscard]] constexpr V sum(std::span<const V> values) {
  V total{};
  for (const V& v : values) total = total + v;
  return total;
}
template <class V, std::size_t N> [[nodiscard]] constexpr V sum(const std::array<V, N>& values) {
  return sum(std::span<const V>(values));
}

/// Rounds of `repeat` that a law may ask for unless it states its own bound.
inline constexpr int kRepeatBound = 65536;

namespace detail {

[[noreturn]] void refuse_repeat(double count, int bound);

/// Calls `change(scalar)` for each scalar of a state, in order.
template <class S, class F> constexpr void change_state(S& state, const F& change) {
  if constexpr (requires { std::tuple_size<S>::value; }) {
    std::apply([&](auto&... part) { (change_state(part, change), ...); }, state);
  } else if constexpr (is_quantity_v<S>) {
    auto base = state.base();
    change(base);
    state = S::from_base(base);
  } else {
    change(state);
  }
}

/// A loop whose count is a node becomes a node itself: its body is recorded once.
template <class State, class F>
[[nodiscard]] State record_loop(const Recorded& count, State state, int bound, const F& f) {
  std::vector<Recorded> scalars;
  change_state(state, [&](Recorded& x) { scalars.push_back(x); });
  LoopRecorder loop(count, scalars, bound);
  const auto set = [](State& s, std::span<const Recorded> values) {
    std::size_t i = 0;
    change_state(s, [&](Recorded& x) { x = values[i++]; });
  };
  set(state, loop.states());
  State next = f(state, loop.round());
  scalars.clear();
  change_state(next, [&](Recorded& x) { scalars.push_back(x); });
  set(state, loop.finish(scalars));
  return state;
}

}  // namespace detail

/// Applies `state = f(state, k)` for k = 0, 1, ... while k < count, and gives the last state.
///
/// The state is a scalar, a quantity, or an array, pair or tuple of them; all parts, and k, are of the law's
/// scalar `T`. While recording, a count that is a constant unrolls the loop and any other becomes one node
/// with the body inside: ranges of counts then give the hull of all states that the loop may stop at, and
/// derivatives with respect to the count are reported as steps.
/// @tparam Bound largest admissible count, so that no input can make a law run forever
/// @param count  rounds; a fraction counts as a whole round
/// @throws DomainError if the count is above `Bound` or not a number
template <int Bound = kRepeatBound, class Count, class State, class F>
[[nodiscard]] constexpr State repeat(const Count& count, State state, F&& f) {
  double rounds;
  if constexpr (std::is_same_v<Count, Recorded>) {
    if (!count.is_constant()) return detail::record_loop(count, state, Bound, f);
    rounds = count.value;
  } else {
    rounds = static_cast<double>(count);
  }
  if (!(rounds <= Bound)) detail::refuse_repeat(rounds, Bound);
  for (double k = 0; k < rounds; ++k) state = f(state, Count(k));
  return state;
}

}  // namespace mlsysim
