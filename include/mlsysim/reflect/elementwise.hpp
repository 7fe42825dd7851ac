#pragma once
/// Operations on all members of a struct at once, from its field table. Each is one statement per member: the
/// places of the members are constants.

#include <mlsysim/reflect/field.hpp>

#include <cstddef>
#include <utility>

namespace mlsysim {

namespace detail {
/// The place of member `I` of a table struct.
template <class S, std::size_t I> inline constexpr auto member_at = S::fields().template get<I>().member;
/// The indices of its members.
template <TableStruct S> using MemberIndices = std::make_index_sequence<decltype(S::fields())::size>;
}  // namespace detail

/// Adds `factor` times each member of `b` to that of `a`.
template <TableStruct S, class T> constexpr void add_members(S& a, const S& b, const T& factor) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((a.*detail::member_at<S, I> += b.*detail::member_at<S, I> * factor), ...);
  }
  (detail::MemberIndices<S>());
}

/// Chooses each member from `a` or `b`. The condition may be recorded.
template <TableStruct S, class C>
[[nodiscard]] constexpr S select_members(const C& condition, const S& a, const S& b) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return S{select(condition, a.*detail::member_at<S, I>, b.*detail::member_at<S, I>)...};
  }
  (detail::MemberIndices<S>());
}

}  // namespace mlsysim
