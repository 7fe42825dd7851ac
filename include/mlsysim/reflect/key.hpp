#pragma once
/// Keys of the shared vocabulary: the name, type, display unit, meaning and range of a value, written once.
///
/// A result links to inputs with its key. A member that is bound to a key of another dimension, or to a
/// misspelled key, does not compile.
/// Example: `Key<double>{"tp_size", "", "tensor-parallel degree"}.at_least(1).counted()` admits whole numbers
/// from 1.

#include <mlsysim/units/quantity.hpp>

#include <string_view>

namespace mlsysim {

/// No limit on this side.
inline constexpr double kUnbounded = 1.7976931348623157e308;

/// A name of the shared vocabulary.
/// @tparam V type of the value: a `Quantity<D>`, `double` (counts and fractions), `bool`, `std::string`, an
///           enumeration with `Choices`, or a pointer to a spec
template <class V> struct Key {
  using value_type = V;
  std::string_view name;     ///< as users write it in C++, Python, YAML and on the command line
  std::string_view unit;     ///< display unit; empty for counts, fractions, texts and objects
  std::string_view meaning;  ///< one line
  bool integral = false;     ///< a count: whole numbers only, and derivatives are differences to the next one
  double low =
      -kUnbounded;  ///< smallest admissible value [display unit]; a row may narrow or widen the range
  double high = kUnbounded;  ///< largest admissible value [display unit]
  bool open_low = false;     ///< `low` itself is not admissible

  /// Must lie in [lowest, highest], in the display unit.
  [[nodiscard]] constexpr Key within(double lowest, double highest) const {
    return {name, unit, meaning, integral, lowest, highest, false};
  }
  /// Must be at least `lowest`, in the display unit.
  [[nodiscard]] constexpr Key at_least(double lowest) const { return within(lowest, kUnbounded); }
  /// Must be >= 0.
  [[nodiscard]] constexpr Key non_negative() const { return within(0, kUnbounded); }
  /// Must be > 0.
  [[nodiscard]] constexpr Key positive() const {
    return {name, unit, meaning, integral, 0, kUnbounded, true};
  }
  /// Whole numbers only.
  [[nodiscard]] constexpr Key counted() const { return {name, unit, meaning, true, low, high, open_low}; }
};

}  // namespace mlsysim
