#pragma once
/// The rows of a field table: a heterogeneous list that can be built, counted, indexed and visited.
///
/// It replaces `std::tuple`, whose constructors for thirty fields take longer to compile than the rest of a
/// header.
/// Example: `rows(a, b)` has size 2, and `get<1>()` is b.

#include <cstddef>
#include <utility>

namespace mlsysim {

namespace detail {
template <std::size_t I, class F> struct RowSlot { F row; };
template <class Indices, class... F> struct RowsBase;
template <std::size_t... I, class... F>
struct RowsBase<std::index_sequence<I...>, F...> : RowSlot<I, F>... {};

template <std::size_t I, class F> constexpr const F& row_of(const RowSlot<I, F>& slot) { return slot.row; }
}  // namespace detail

/// Rows in order; made by `rows(...)`.
template <class... F> struct Rows : detail::RowsBase<std::index_sequence_for<F...>, F...> {
  static constexpr std::size_t size = sizeof...(F);

  /// Row `I`.
  template <std::size_t I> [[nodiscard]] constexpr const auto& get() const {
    return detail::row_of<I>(*this);
  }
};

/// The table of a struct: `return rows(field(&S::a, key::a), field(&S::b, "b", "ms", "meaning"));`
template <class... F> [[nodiscard]] constexpr Rows<F...> rows(const F&... f) { return Rows<F...>{{{f}...}}; }

/// Calls `f(row)` for each row, in order.
template <class... F, class Visit> constexpr void for_each_row(const Rows<F...>& table, Visit&& visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { (visit(table.template get<I>()), ...); }
  (std::index_sequence_for<F...>{});
}

}  // namespace mlsysim
