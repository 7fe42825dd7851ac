#pragma once
/// Enumerations that users write by name: the name of a value, and the value of a name.
///
/// Names are the enumerators unless `names_of` lists others. Matching is exact.
/// Example: `name_of(Fidelity::operator_level)` is "operator", and `choice_of<Fidelity>("op")` is empty.

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace mlsysim {

namespace detail {

/// Name of an enumerator; empty for a number without one.
template <auto V> consteval std::string_view enumerator() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("V = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  return text.front() == '(' ? std::string_view() : text.substr(text.rfind(':') + 1);
}
template <class E, std::size_t N = 0> consteval std::size_t enumerator_count() {
  if constexpr (enumerator<static_cast<E>(N)>().empty())
    return N;
  else
    return enumerator_count<E, N + 1>();
}
template <class E, std::size_t... I> consteval auto enumerators(std::index_sequence<I...>) {
  return std::array{enumerator<static_cast<E>(I)>()...};
}

}  // namespace detail

/// Meaning of an enumeration, and names of its values in order from 0 if they differ from its enumerators.
template <std::size_t N> struct ChoiceNames {
  template <class... Names>
  constexpr explicit ChoiceNames(std::string_view about, Names... of) : what(about), names{of...} {}
  std::string_view what;
  std::array<std::string_view, N> names;
};
template <class... Names> ChoiceNames(std::string_view, Names...) -> ChoiceNames<sizeof...(Names)>;

/// The ChoiceNames of an enumeration. Specialize beside it:
/// `template <> inline constexpr auto names_of<Color> = ChoiceNames{"color"};`
template <class E> inline constexpr auto names_of = nullptr;

/// Names of the values of an enumeration, in order from 0, as `names_of` gives them. A specialization may
/// define `static constexpr std::array<std::string_view, N> names{...}` and `static constexpr
/// std::string_view what` instead.
template <class E> struct Choices;
template <class E>
  requires requires { names_of<E>.names; }
struct Choices<E> {
  static constexpr auto names = [] {
    if constexpr (names_of<E>.names.empty())
      return detail::enumerators<E>(std::make_index_sequence<detail::enumerator_count<E>()>());
    else
      return names_of<E>.names;
  }();
  static constexpr std::string_view what = names_of<E>.what;
};

/// An enumeration with names.
template <class E>
concept Choice = std::is_enum_v<E> && requires {
  Choices<E>::names;
};

/// Name of a value.
template <Choice E> [[nodiscard]] constexpr std::string_view name_of(E value) {
  return Choices<E>::names[static_cast<std::size_t>(value)];
}

/// Value of a name, exact; empty when there is none.
template <Choice E> [[nodiscard]] constexpr std::optional<E> choice_of(std::string_view name) {
  for (std::size_t i = 0; i < Choices<E>::names.size(); ++i)
    if (Choices<E>::names[i] == name) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace mlsysim
