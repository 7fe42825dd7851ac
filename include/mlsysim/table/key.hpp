#pragma once
/// Keys: the vocabulary that links results to inputs.
///
/// A key is written once, with its type, its display unit and its meaning. A member that is bound to a key of
/// another dimension, or to a misspelt key, does not compile.

#include <mlsysim/units/quantity.hpp>

#include <string_view>

namespace mlsysim {

/// A name of the shared vocabulary.
/// @tparam V type of the value: a `Quantity<D>`, `double` (counts and fractions), `bool`, `std::string`, an
///           enumeration with `Choices`, or a pointer to a spec
template <class V> struct Key {
  using value_type = V;
  std::string_view name;     ///< as users write it in C++, Python, YAML and on the command line
  std::string_view unit;     ///< display unit; empty for counts, fractions, texts and objects
  std::string_view meaning;  ///< one line
  bool integral = false;     ///< a count: whole numbers only, and derivatives are differences to the next one
};

}  // namespace mlsysim
