#pragma once
/// Copies the fields of one table struct into another struct with fields of these names.
///
/// Fields without a namesake keep their defaults.
/// Example: {x: 1, y: 2} into a struct with the defaults {y: 7, z: 9} gives {y: 2, z: 9}.

#include <mlsysim/reflect/field.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace mlsysim {

namespace detail {
inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// Position of the row of this name in the table of `S`.
template <HasFields S> consteval std::size_t row_named(std::string_view name) {
  std::size_t at = kNowhere, i = 0;
  for_each_field<S>([&](const auto& row) {
    if (row.name == name) at = i;
    ++i;
  });
  return at;
}

template <class M> constexpr void take(M& to, const M& from) { to = from; }
template <class M> constexpr void take(std::optional<M>& to, const M& from) { to = from; }
/// Keeps the default where no value was given.
template <class M> constexpr void take(M& to, const std::optional<M>& from) {
  if (from) to = *from;
}

template <std::size_t I, class To, class From> constexpr void take_row(To& to, const From& from) {
  constexpr auto target = To::fields();
  constexpr std::size_t at = row_named<From>(target.template get<I>().name);
  if constexpr (at != kNowhere) {
    constexpr auto source = From::fields();
    take(to.*(target.template get<I>().member), from.*(source.template get<at>().member));
  }
}
}  // namespace detail

/// A `To` with the fields of `from`. Fields of one name must have one type, up to std::optional. Other types
/// do not compile.
template <HasFields To, HasFields From> [[nodiscard]] constexpr To fields_of(const From& from) {
  To to{};
  [&]<std::size_t... I>(std::index_sequence<I...>) { (detail::take_row<I>(to, from), ...); }
  (std::make_index_sequence<decltype(To::fields())::size>{});
  return to;
}

}  // namespace mlsysim
