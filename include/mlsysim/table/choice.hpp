#pragma once
/// Enumerations that users write by name.

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

namespace mlsysim {

/// Names of the values of an enumeration, in order from 0. Specialise with
/// `static constexpr std::array<std::string_view, N> names{...}` and `static constexpr std::string_view
/// what`.
template <class E> struct Choices;

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
