#pragma once
/// The two ways in which a table holds its numbers: `Stated`, optional as in a file, and `Numeric`, complete
/// as laws read them.
///
/// A table that is a template over its holder is part of a spec and of a numeric view. One list of rows then
/// serves file, Python, sweep axis and law.
/// Example: the initial value `H::from(1)` of a share is absent for `Stated` and 1 for `Numeric<double>`.

#include <mlsysim/units/quantity.hpp>

#include <optional>

namespace mlsysim {

/// Numbers as a file states them: each may be absent.
struct Stated {
  template <class D> using quantity = std::optional<Quantity<D, double>>;
  using number = std::optional<double>;
  /// Initial value of a member: nothing is stated.
  static constexpr std::nullopt_t from(double) { return std::nullopt; }
  template <class D> static constexpr std::nullopt_t quantity_from(double) { return std::nullopt; }
};

/// Numbers as laws read them: every gap is filled.
template <class T> struct Numeric {
  template <class D> using quantity = Quantity<D, T>;
  using number = T;
  /// Initial value of a member [base unit]: the value that changes nothing.
  static constexpr T from(double neutral) { return T{neutral}; }
  template <class D> static constexpr Quantity<D, T> quantity_from(double neutral) {
    return Quantity<D, T>::from_base(T{neutral});
  }
};

}  // namespace mlsysim
