#pragma once
/// Quantities whose dimension is known only at run time: read from text, files, Python and plugins.
///
/// An `AnyQuantity` holds the exponents, the number in the canonical base unit, and the text as written.
/// `q.as<dim::bandwidth>()` checks the dimension once and returns the typed quantity that laws take.
/// Example: `AnyQuantity::parse("3.35 TB/s")` has base() 3.35e12, number() 3.35 and in("GB/s") 3350. Its
/// `as<dim::time>()` throws DimensionError.

#include <mlsysim/units/error.hpp>
#include <mlsysim/units/quantity.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace mlsysim {

class UnitRegistry;

/// A value of any dimension, with the text it was authored as.
///
/// Equality and order compare values, never texts. Arithmetic gives a quantity without authored text. Numbers
/// are finite when they come from `parse`; arithmetic may leave the finite range and is then refused on
/// writing.
class [[nodiscard]] AnyQuantity {
 public:
  /// Zero without dimension.
  AnyQuantity() = default;
  /// A number without dimension. Explicit: a bare number is no quantity by accident.
  explicit AnyQuantity(double number) : base_(number) {}
  template <class D>
  AnyQuantity(const Quantity<D, double>& q)  // NOLINT(google-explicit-constructor): losing the tag is safe
      : base_(q.base()), exps_(D::exps) {}

  /// From a number in the canonical base unit of `exps`.
  static AnyQuantity from_base(double base, const Exponents& exps);
  /// Reads "3.35 TB/s" with the standard units. @throws UnitError
  static AnyQuantity parse(std::string_view text, const Location& where = {});

  [[nodiscard]] const Exponents& exponents() const { return exps_; }
  [[nodiscard]] bool dimensionless() const { return exps_.dimensionless(); }
  /// The number in the canonical base unit.
  [[nodiscard]] double base() const { return base_; }
  /// The text as it was written, or as `to` wrote it; empty for a computed quantity.
  [[nodiscard]] std::string_view text() const { return text_; }
  /// Where the text stood; empty where unknown.
  [[nodiscard]] const Location& where() const { return where_; }
  /// The unit as it was written, or the canonical base unit ("B/s") of a computed quantity; empty when there
  /// is none.
  [[nodiscard]] std::string unit() const;
  /// The number in `unit()`; for an authored quantity exactly the number that was written.
  [[nodiscard]] double number() const;

  /// The statically typed quantity; a `double` for `dim::none`.
  /// @throws DimensionError naming the expected and the found dimension, the text and its place
  template <class D> [[nodiscard]] auto as() const {
    if (!(exps_ == D::exps)) refuse_as(D::exps);
    return detail::of<D::exps, double>::make(base_);
  }

  /// The number in `unit`, rounded once where the unit is a whole number of base units, or a whole part of
  /// one.
  /// @throws UnitError for a text that is no unit, DimensionError for a unit of another dimension
  [[nodiscard]] double in(std::string_view unit) const;
  [[nodiscard]] double in(std::string_view unit, const UnitRegistry& units) const;
  /// A copy of the value that is shown in `unit`; `to(u).base()` is bit for bit the old one.
  AnyQuantity to(std::string_view unit) const;
  AnyQuantity to(std::string_view unit, const UnitRegistry& units) const;

  /// Exact text: what was written, or the shortest that reads back as the same number. @throws UnitError if
  /// not finite
  [[nodiscard]] std::string str() const;

  /// The value raised to a whole power. @throws DimensionError when an exponent leaves [-127, 127]
  AnyQuantity power(int n) const;

  AnyQuantity operator-() const { return from_base(-base_, exps_); }
  friend AnyQuantity operator*(const AnyQuantity& a, const AnyQuantity& b);
  friend AnyQuantity operator/(const AnyQuantity& a, const AnyQuantity& b);
  friend AnyQuantity operator*(const AnyQuantity& a, double x) { return from_base(a.base_ * x, a.exps_); }
  friend AnyQuantity operator*(double x, const AnyQuantity& a) { return from_base(x * a.base_, a.exps_); }
  friend AnyQuantity operator/(const AnyQuantity& a, double x) { return from_base(a.base_ / x, a.exps_); }
  friend AnyQuantity operator/(double x, const AnyQuantity& a) { return AnyQuantity(x) / a; }
  /// Sum and difference. @throws DimensionError for operands of different dimension
  friend AnyQuantity operator+(const AnyQuantity& a, const AnyQuantity& b) {
    a.require_same(b, "add");
    return from_base(a.base_ + b.base_, a.exps_);
  }
  friend AnyQuantity operator-(const AnyQuantity& a, const AnyQuantity& b) {
    a.require_same(b, "subtract");
    return from_base(a.base_ - b.base_, a.exps_);
  }

  /// Same dimension and same value; quantities of different dimension are unequal.
  friend bool operator==(const AnyQuantity& a, const AnyQuantity& b) {
    return a.exps_ == b.exps_ && a.base_ == b.base_;
  }
  /// Order of values. @throws DimensionError for operands of different dimension
  friend bool operator<(const AnyQuantity& a, const AnyQuantity& b) {
    a.require_same(b, "compare");
    return a.base_ < b.base_;
  }
  friend bool operator>(const AnyQuantity& a, const AnyQuantity& b) { return b < a; }
  friend bool operator<=(const AnyQuantity& a, const AnyQuantity& b) {
    a.require_same(b, "compare");
    return a.base_ <= b.base_;
  }
  friend bool operator>=(const AnyQuantity& a, const AnyQuantity& b) { return b <= a; }

 private:
  friend class UnitRegistry;

  void require_same(const AnyQuantity& other, const char* verb) const {
    if (!(exps_ == other.exps_)) refuse_pair(other, verb);
  }
  [[noreturn]] void refuse_as(const Exponents& expected) const;
  [[noreturn]] void refuse_pair(const AnyQuantity& other, const char* verb) const;

  double base_ = 0.0;
  Exponents exps_{};
  std::uint16_t number_size_ = 0;  // text_ begins with the number ...
  std::uint16_t unit_at_ = 0;      // ... and its unit starts here
  std::string text_;
  Location where_;
};

}  // namespace mlsysim
