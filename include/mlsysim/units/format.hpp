#pragma once
/// Text of quantities: exact for files (`format_exact`), rounded for readers (`pretty`).
///
/// Example: 80 GiB is "8.589934592e10 B" by `format_exact` and "85.9 GB" by `pretty`.

#include <mlsysim/units/any_quantity.hpp>

#include <string>
#include <string_view>

namespace mlsysim {

class UnitRegistry;

/// The shortest number text that reads back as the same double. @throws UnitError if not finite
[[nodiscard]] std::string format_exact(double number);
/// Exact text in the canonical base unit: `parse(format_exact(q)) == q`, bit for bit. @throws UnitError if
/// not finite
[[nodiscard]] std::string format_exact(const AnyQuantity& q);
/// Exact text in `unit`; up to 21 digits where the unit is no power of ten or two of the base unit.
/// @throws UnitError if not finite or no unit, DimensionError for a unit of another dimension
[[nodiscard]] std::string format_exact(const AnyQuantity& q, std::string_view unit);
[[nodiscard]] std::string format_exact(const AnyQuantity& q, std::string_view unit,
                                       const UnitRegistry& units);

/// A number for readers, rounded to `digits` significant digits, 1 to 17. Lossy; "inf" and "nan" are written.
/// @throws DomainError for digits out of range
[[nodiscard]] std::string pretty(double number, int digits = 4);
/// A quantity for readers, in the unit that suits its size: "3.35 TB/s", "1.2 kUSD". Lossy: `digits`
/// significant digits, trailing zeros dropped; only whole numbers below 2^53 without a dimension are exact.
/// Use `format_exact` for files.
[[nodiscard]] std::string pretty(const AnyQuantity& q, int digits = 4);
/// A quantity for readers in a chosen unit. Lossy. @throws UnitError, DimensionError
[[nodiscard]] std::string pretty(const AnyQuantity& q, std::string_view unit, int digits = 4);

/// Canonical base unit of a dimension: "B/s", "W", "FLOP/param/token", "1/s"; empty for none.
[[nodiscard]] std::string canonical_unit(const Exponents& exps);
/// Name of a dimension with its unit, "bandwidth [B/s]"; the unit alone where it has no name;
/// "dimensionless".
[[nodiscard]] std::string dimension_name(const Exponents& exps);

}  // namespace mlsysim
