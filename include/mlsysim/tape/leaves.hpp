#pragma once
/// Reads and writes the numbers of a table struct in the order of its table. Nested tables are flattened.
///
/// Numbers are in canonical base units. Kernels load and store member by member through this header. A struct
/// that is copied as a block does not vectorize (four times slower, measured).
/// Example: `leaf_count<Roofline::Inputs<double>>` is 4, in the order work, traffic, peak, bandwidth.

#include <mlsysim/reflect/field.hpp>
#include <mlsysim/reflect/lift.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace mlsysim {
namespace detail {

template <class M> inline constexpr bool is_leaf_v = Scalar<M> || is_quantity_v<M>;

template <class S> inline constexpr auto field_rows = S::fields();

/// Calls `f(member)` for each number of `s`, where a member is a scalar or a quantity.
template <class S, class F> constexpr void for_each_leaf(S& s, F&& f) {
  constexpr const auto& table = field_rows<std::remove_const_t<S>>;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto visit = [&]<class M>(M& member) {
      using Plain = std::remove_const_t<M>;
      static_assert(
          is_leaf_v<Plain> || HasFields<Plain>,
          "inputs and results of a law are numbers, quantities, and table structs of them; settle texts, "
          "flags, choices and objects in the resolver that calls the law");
      if constexpr (is_leaf_v<Plain>)
        f(member);
      else if constexpr (HasFields<Plain>)
        for_each_leaf(member, f);
    };
    (visit(s.*table.template get<I>().member), ...);
  }
  (std::make_index_sequence<std::remove_cvref_t<decltype(table)>::size>{});
}

template <class M> consteval std::size_t leaves_of() {
  if constexpr (HasFields<M>) {
    return []<class... F>(std::type_identity<Rows<F...>>) {
      return (std::size_t{0} + ... + leaves_of<typename F::member_type>());
    }(std::type_identity<decltype(M::fields())>{});
  } else {
    return 1;
  }
}

template <class T> constexpr void store_leaf(T& member, const T& x) { member = x; }
template <class D, class T> constexpr void store_leaf(Quantity<D, T>& member, const T& x) {
  member = Quantity<D, T>::from_base(x);
}
template <Scalar T> constexpr const T& leaf_value(const T& member) { return member; }
template <class D, class T> constexpr const T& leaf_value(const Quantity<D, T>& member) {
  return member.base();
}

}  // namespace detail

/// How many numbers a table struct holds.
template <HasFields S> inline constexpr std::size_t leaf_count = detail::leaves_of<S>();

/// Fills the numbers of `s` with `next(index)`, in the canonical base units.
template <HasFields S, class Next> constexpr void write_leaves(S& s, Next&& next) {
  std::size_t i = 0;
  detail::for_each_leaf(s, [&](auto& member) { detail::store_leaf(member, next(i++)); });
}

/// Calls `take(index, x)` for the numbers of `s`, in the canonical base units.
template <HasFields S, class Take> constexpr void read_leaves(const S& s, Take&& take) {
  std::size_t i = 0;
  detail::for_each_leaf(s, [&](const auto& member) { take(i++, detail::leaf_value(member)); });
}

}  // namespace mlsysim
