#pragma once
/// The rest of the overload set of laws, for every scalar: `sum`, `repeat`, and `ceil_div` of quantities.

#include <mlsysim/scalars/condition.hpp>
#include <mlsysim/units/quantity.hpp>

#include <array>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

namespace mlsysim {

/// Number of blocks of `size` that cover `count`, both of one dimension.
template <class D, class T1, class T2>
[[nodiscard]] auto ceil_div(const Quantity<D, T1>& count, const Quantity<D, T2>& size) {
  return ceil(count.base() / size.base());
}

/// Sum from left to right; the order is part of the result.
template <class First, class... Rest>
[[nodiscard]] constexpr First sum(First first, const Rest&... rest) {
  ((first = first + rest), ...);
  return first;
}
/// Sum of the elements from first to last; a default-constructed value if there are none.
template <class V>
[[nodiscard]] constexpr V sum(std::span<const V> values) {
  V total{};
  for (const V& v : values) total = total + v;
  return total;
}
template <class V, std::size_t N>
[[nodiscard]] constexpr V sum(const std::array<V, N>& values) {
  return sum(std::span<const V>(values));
}

/// Rounds of `repeat` that a law may ask for unless it states its own bound.
inline constexpr int kRepeatBound = 65536;

namespace detail {

[[noreturn]] void refuse_repeat(double count, int bound);

/// `next` where the loop goes on, else `now`; sees through arrays, pairs and tuples.
template <class C, class S>
constexpr S merge_states(const C& keep_going, const S& next, const S& now) {
  if constexpr (requires { std::tuple_size<S>::value; }) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return S{merge_states(keep_going, std::get<I>(next), std::get<I>(now))...};
    }(std::make_index_sequence<std::tuple_size_v<S>>{});
  } else {
    return select(keep_going, next, now);
  }
}
/// Calls `change(scalar)` for each scalar of a state.
template <class S, class F>
constexpr void change_state(S& state, const F& change) {
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

}  // namespace detail

/// Applies `state = f(state, k)` for k = 0, 1, ... while k < count, and gives the last state.
///
/// Lanes of a batch stop one by one; a range of counts gives the hull of all states it may stop at; derivatives with
/// respect to the count are reported as steps. The state is a scalar, a quantity, or an array, pair or tuple of them;
/// all parts are of the law's scalar `T`.
/// @tparam Bound largest admissible count, so that no input can make a law run for ever
/// @param count  rounds; a fraction counts as a whole round
/// @throws DomainError if the count is above `Bound` or not a number; a range of counts that reaches above it gives
///         the whole line instead
template <int Bound = kRepeatBound, class Count, class State, class F>
[[nodiscard]] constexpr State repeat(const Count& count, State state, F&& f) {
  using Traits = detail::LoopTraits<Count>;
  const double rounds = Traits::upper(count);
  if (!(rounds <= Bound)) {
    if constexpr (Traits::may_be_endless) {
      detail::change_state(state, [](auto& x) { x = Count::whole(); });
      return state;
    } else {
      detail::refuse_repeat(rounds, Bound);
    }
  }
  for (int k = 0; k < rounds; ++k) {
    const auto round = static_cast<double>(k);
    if constexpr (Traits::merges)
      state = detail::merge_states(count > Count(round), State(f(state, round)), state);
    else
      state = f(state, round);
  }
  detail::change_state(state, [&](auto& x) { Traits::mark_steps(x, count); });
  return state;
}

}  // namespace mlsysim
