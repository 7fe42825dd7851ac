#pragma once
/// Joins field tables: rows that several structs share are written once, as a template over the struct.
///
/// Example: `join(rows(a, b), rows(c))` has the rows a, b, c in this order.

#include <mlsysim/reflect/field.hpp>
#include <mlsysim/reflect/rows.hpp>

#include <utility>

namespace mlsysim {

namespace detail {
template <class... F, class... G, std::size_t... I, std::size_t... J>
constexpr Rows<F..., G...> join_two(const Rows<F...>& a, const Rows<G...>& b, std::index_sequence<I...>,
                                    std::index_sequence<J...>) {
  return rows(a.template get<I>()..., b.template get<J>()...);
}
}  // namespace detail

namespace detail {
template <class S, class Base, class M> constexpr Field<S, M> as_row_of(const Field<Base, M>& row) {
  return {static_cast<const FieldRow&>(row), row.member};
}
template <class S, class... F, std::size_t... I>
constexpr auto rows_of_base(const Rows<F...>& base, std::index_sequence<I...>) {
  return rows(as_row_of<S>(base.template get<I>())...);
}
}  // namespace detail

/// The rows of a base class as rows of `S`, which inherits its members.
template <class S, class... F> [[nodiscard]] constexpr auto inherited(const Rows<F...>& base) {
  return detail::rows_of_base<S>(base, std::index_sequence_for<F...>{});
}

/// The rows of all parts, in order: `return join(rows(field(...)), training_plan_rows<Inputs>(),
/// rows(field(...)));`
template <class... F> [[nodiscard]] constexpr Rows<F...> join(const Rows<F...>& all) { return all; }
template <class... F, class... G, class... More>
[[nodiscard]] constexpr auto join(const Rows<F...>& first, const Rows<G...>& second, const More&... more) {
  return join(
      detail::join_two(first, second, std::index_sequence_for<F...>{}, std::index_sequence_for<G...>{}),
      more...);
}

}  // namespace mlsysim
