#pragma once
/// Adds and selects structs member by member, through their field tables.
///
///     add_members:    a.m = a.m + factor * b.m             for each member m
///     select_members: r.m = select(condition, a.m, b.m)
///
/// The member pointers are constants, so each member costs one statement.
/// Example: `add_members` of {1, 2} and {10, 20} with factor 3 gives {31, 62}.

#include <mlsysim/reflect/field.hpp>

#include <cstddef>
#include <utility>

namespace mlsysim {

namespace detail {
/// The pointer to member `I` of a table struct.
template <class S, std::size_t I> inline constexpr auto member_at = S::fields().template get<I>().member;
/// The indices of its members.
template <TableStruct S> using MemberIndices = std::make_index_sequence<decltype(S::fields())::size>;
}  // namespace detail

template <TableStruct S, class T> constexpr void add_members(S& a, const S& b, const T& factor) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((a.*detail::member_at<S, I> += b.*detail::member_at<S, I> * factor), ...);
  }
  (detail::MemberIndices<S>());
}

/// The condition may be recorded.
template <TableStruct S, class C>
[[nodiscard]] constexpr S select_members(const C& condition, const S& a, const S& b) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return S{select(condition, a.*detail::member_at<S, I>, b.*detail::member_at<S, I>)...};
  }
  (detail::MemberIndices<S>());
}

}  // namespace mlsysim
