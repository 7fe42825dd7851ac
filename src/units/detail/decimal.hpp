#pragma once
/// Decimal numbers as digit strings: exact scaling by whole numbers and powers of ten, rounding once at the
/// end.

#include <mlsysim/units/unit_registry.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mlsysim::detail {

/// A number scanned at the front of a text.
struct ScannedNumber {
  std::string_view text;  ///< sign, digits, exponent
  bool negative = false;
  bool more = false;       ///< there are more than 19 significant digits; `head` then lacks some
  std::uint64_t head = 0;  ///< significant digits as a whole number
  int exp10 = 0;           ///< value = head * 10^exp10
};

/// Reads `[+-] digits [. digits] [e[+-]digits]`, decimal only, whatever the locale; empty when there is none.
[[nodiscard]] std::optional<ScannedNumber> scan_number(std::string_view text);

/// The number times the scale, correctly rounded; empty when it leaves the range of double.
[[nodiscard]] std::optional<double> scaled(const ScannedNumber& number, const UnitScale& scale);

/// `digits * 10^exp10`, digits without leading zeros ("0" for zero).
struct Decimal {
  bool negative = false;
  std::string digits;
  int exp10 = 0;
};

/// Shortest decimal that reads back as `x`, which must be finite.
[[nodiscard]] Decimal shortest_decimal(double x);
/// `x` with `count` significant digits, 1 to 40; `x` must be finite.
[[nodiscard]] Decimal rounded_decimal(double x, int count);
/// Correctly rounded value; empty when it leaves the range of double.
[[nodiscard]] std::optional<double> value_of(const Decimal& d);
/// Text of a decimal: fixed for exponents -5 to 8, otherwise scientific ("3.35e12").
[[nodiscard]] std::string text_of(Decimal d);
/// Shortest text that, read with `scale`, gives `base` bit for bit; `base` must be finite.
[[nodiscard]] std::string exact_number(double base, const UnitScale& scale);

/// Multiplies `scale` by `other^power`; false when the exact factor no longer fits.
[[nodiscard]] bool accumulate(UnitScale& scale, const UnitScale& other, int power);
/// The scale of `mul / div` times 10^pow10, both whole numbers.
[[nodiscard]] UnitScale make_scale(std::uint64_t mul, std::uint64_t div, int pow10);

/// A scale as two doubles, reduced: `number * mul / div`.
struct ScaleFactors {
  double mul, div;
};
[[nodiscard]] ScaleFactors factors(const UnitScale& scale);

}  // namespace mlsysim::detail
