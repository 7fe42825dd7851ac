#include <mlsysim/units/any_quantity.hpp>

#include "detail/decimal.hpp"
#include "detail/dimension_hint.hpp"
#include "detail/exponent_sum.hpp"
#include "detail/unit_faults.hpp"

#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <cmath>

namespace mlsysim {

using detail::facts_of;
using detail::UnitFault;

namespace {

/// "'2 TB' (data [B])": what a quantity was, for a message. Never throws: a message must come out.
std::string described(const AnyQuantity& q) {
  const std::string text = q.text().empty() ? pretty(q, 6) : std::string(q.text());
  return detail::quoted(text) + " (" + dimension_name(q.exponents()) + ")";
}

[[noreturn]] void refuse_exponents(const AnyQuantity& q) {
  throw DimensionError(facts_of(UnitFault::exponent_range, described(q), "exponents between -127 and 127",
                                "look for a quantity that is multiplied in a loop", q.where()));
}

void require_unit(const AnyQuantity& q, const UnitExpr& unit) {
  if (unit.exps == q.exponents()) return;
  throw DimensionError(
      facts_of(UnitFault::unit_dimension, described(q),
               "a unit of that dimension, not '" + unit.spelling + "' (" + dimension_name(unit.exps) + ")",
               q.dimensionless() ? "a plain number has no unit; '%' is one for fractions"
                                 : "its base unit is '" + canonical_unit(q.exponents()) + "'",
               q.where()));
}

}  // namespace

AnyQuantity AnyQuantity::from_base(double base, const Exponents& exps) {
  AnyQuantity q;
  q.base_ = base;
  q.exps_ = exps;
  return q;
}

AnyQuantity AnyQuantity::parse(std::string_view text, const Location& where) {
  return UnitRegistry::standard().parse(text, where);
}

std::string AnyQuantity::unit() const {
  return text_.empty() ? canonical_unit(exps_) : text_.substr(unit_at_);
}

double AnyQuantity::number() const {
  if (text_.empty()) return base_;
  const auto scanned = detail::scan_number(std::string_view(text_).substr(0, number_size_));
  return detail::scaled(*scanned, UnitScale{}).value_or(base_);
}

double AnyQuantity::in(std::string_view unit) const { return in(unit, UnitRegistry::standard()); }

double AnyQuantity::in(std::string_view unit, const UnitRegistry& units) const {
  const UnitExpr u = units.parse_unit(unit, Location{});
  require_unit(*this, u);
  // Base and back would change about a quarter of all numbers in the last bit; what was written is known
  // exactly.
  if (!text_.empty() && unit == std::string_view(text_).substr(unit_at_)) return number();
  return detail::to_base(base_, u.div, u.mul);
}

AnyQuantity AnyQuantity::to(std::string_view unit) const { return to(unit, UnitRegistry::standard()); }

AnyQuantity AnyQuantity::to(std::string_view unit, const UnitRegistry& units) const {
  AnyQuantity q = *this;
  const std::string text = format_exact(*this, unit, units);
  const auto number = detail::scan_number(text);
  q.text_ = text;
  q.number_size_ = static_cast<std::uint16_t>(number->text.size());
  q.unit_at_ = static_cast<std::uint16_t>(std::min(text.size(), number->text.size() + 1));
  return q;
}

std::string AnyQuantity::str() const { return text_.empty() ? format_exact(*this) : text_; }

AnyQuantity AnyQuantity::power(int n) const {
  AnyQuantity q(std::pow(base_, n));
  if (dimensionless()) return q;
  if (!detail::accumulate_exponents(q.exps_, exps_, n)) refuse_exponents(*this);
  return q;
}

AnyQuantity operator*(const AnyQuantity& a, const AnyQuantity& b) {
  AnyQuantity q(a.base_ * b.base_);
  if (!detail::combine_exponents(q.exps_, a.exps_, b.exps_, 1)) refuse_exponents(a);
  return q;
}

AnyQuantity operator/(const AnyQuantity& a, const AnyQuantity& b) {
  AnyQuantity q(a.base_ / b.base_);
  if (!detail::combine_exponents(q.exps_, a.exps_, b.exps_, -1)) refuse_exponents(a);
  return q;
}

void AnyQuantity::refuse_as(const Exponents& expected) const {
  const UnitFault fault = expected.dimensionless()            ? UnitFault::unexpected_unit
                          : dimensionless() && unit().empty() ? UnitFault::missing_unit
                                                              : UnitFault::wrong_dimension;
  const std::string found =
      fault == UnitFault::missing_unit
          ? detail::quoted(text_.empty() ? pretty(base_, 17) : text_) + " without a unit"
          : described(*this);
  throw DimensionError(
      facts_of(fault, found, dimension_name(expected), detail::dimension_hint(*this, expected), where()));
}

void AnyQuantity::refuse_pair(const AnyQuantity& other, const char* verb) const {
  throw DimensionError(
      facts_of(UnitFault::mixed_dimensions, described(*this) + " and " + described(other),
               std::string("two quantities of one dimension to ") + verb,
               exps_ == other.exps_ * -1 ? "is one of them the inverse of what is meant?" : "",
               where_.text().empty() ? other.where_ : where_));
}

}  // namespace mlsysim
