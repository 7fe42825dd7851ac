#pragma once
/// Tables made of parts: groups of rows that several structs share are written once, as a template over the
/// struct.

#include <mlsysim/table/rows.hpp>

#include <utility>

namespace mlsysim {

namespace detail {
template <class... F, class... G, std::size_t... I, std::size_t... J>
constexpr Rows<F..., G...> join_two(const Rows<F...>& a, const Rows<G...>& b, std::index_sequence<I...>,
                                    std::index_sequence<J...>) {
  return rows(a.template get<I>()..., b.template get<J>()...);
}
}  // namespace detail

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
