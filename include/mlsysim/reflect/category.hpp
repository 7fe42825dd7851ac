#pragma once
/// Members of a problem that are not numbers: categories fix which operations a law performs, labels are
/// texts for the reader.
///
/// A problem lists its numbers in `fields()`, its categories in `categories()` and its labels in `labels()`.
/// `problem_is_complete` fails to compile when a member is in none of the three. Keys of tapes, copies to
/// another scalar and digests read these lists.
/// Example: LinkForm has the categories levels, axes, reduces and algorithm. `append_key` packs them into 10
/// bytes.

#include <mlsysim/reflect/field.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace mlsysim {

/// One member that is a category or a label.
template <class S, class M> struct Category {
  using struct_type = S;
  using member_type = M;
  std::string_view name;
  std::string_view meaning;
  M S::*member;
};

template <class S, class M>
[[nodiscard]] constexpr Category<S, M> category(M S::*member, std::string_view name,
                                                std::string_view meaning) {
  return {name, meaning, member};
}

template <class S>
concept HasCategories = requires {
  S::categories();
};
template <class S>
concept HasLabels = requires {
  S::labels();
};

namespace detail {

template <class S> inline constexpr auto category_rows = S::categories();

template <class Rows, class F> constexpr void for_each_index(F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { (f(std::integral_constant<std::size_t, I>{}), ...); }
  (std::make_index_sequence<Rows::size>{});
}

template <class S> consteval bool tables_are_complete();

/// Whether the tables that `S` holds as numbers list all of their members.
template <class S> consteval bool nested_are_complete() {
  bool all = true;
  if constexpr (HasFields<S>)
    for_each_row(S::fields(), [&]<class Owner, class M>(const Field<Owner, M>&) {
      if constexpr (HasFields<M> || HasCategories<M>) all = all && tables_are_complete<M>();
    });
  return all;
}

template <class S> consteval bool tables_are_complete() {
  constexpr std::size_t listed = listed_members<S>();
  return arity<S, listed>() == listed && nested_are_complete<S>();
}

}  // namespace detail

/// Whether every member of a problem, and of the tables in it, is a number, a category or a label.
template <class S> consteval bool problem_is_complete() {
  static_assert(detail::tables_are_complete<S>(),
                "a member of this problem is neither a number nor a category: list it in fields(), "
                "categories() or labels()");
  return true;
}

/// Appends all categories of a problem and of its tables as bytes. They decide its operations. Categories
/// that are structs have an overload of their own or a table of categories.
template <class S>
  requires(HasFields<S> || HasCategories<S>)
void append_key(std::string& key, const S& s);

template <class M>
  requires(std::is_arithmetic_v<M> || std::is_enum_v<M> || std::is_pointer_v<M>)
void append_key(std::string& key, const M& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class S>
  requires(HasFields<S> || HasCategories<S>)
void append_key(std::string& key, const S& s) {
  if constexpr (HasCategories<S>)
    for_each_row(S::categories(), [&](const auto& row) { append_key(key, s.*(row.member)); });
  if constexpr (HasFields<S>)
    for_each_row(S::fields(), [&]<class Owner, class M>(const Field<Owner, M>& row) {
      if constexpr (HasFields<M> || HasCategories<M>) append_key(key, s.*(row.member));
    });
}

/// Copies the categories of a problem over one scalar to the same problem over another. A member whose type
/// depends on the scalar is left to the caller.
template <class From, class To> constexpr void copy_categories(const From& from, To& to) {
  if constexpr (HasCategories<From>)
    detail::for_each_index<decltype(From::categories())>([&](auto at) {
      const auto& source = from.*(detail::category_rows<From>.template get<at()>().member);
      auto& target = to.*(detail::category_rows<To>.template get<at()>().member);
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(source)>,
                                   std::remove_cvref_t<decltype(target)>>)
        target = source;
    });
  if constexpr (HasFields<From>)
    detail::for_each_index<decltype(From::fields())>([&](auto at) {
      const auto& source = from.*(From::fields().template get<at()>().member);
      using M = std::remove_cvref_t<decltype(source)>;
      if constexpr (HasFields<M> || HasCategories<M>)
        copy_categories(source, to.*(To::fields().template get<at()>().member));
    });
}

}  // namespace mlsysim
