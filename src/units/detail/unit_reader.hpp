#pragma once
/// The reader of unit expressions; lives for one text.

#include <mlsysim/units/detail/trimmed.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include "unit_faults.hpp"

#include <array>
#include <string>
#include <string_view>

namespace mlsysim {
namespace detail {

constexpr bool starts_symbol(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}
constexpr bool continues_symbol(char c) { return starts_symbol(c) || (c >= '0' && c <= '9'); }

}  // namespace detail

/// Reads one unit expression; keeps the factors so that the canonical spelling can be made when it is wanted.
struct UnitRegistry::Reader {
  struct Factor {
    const Symbol* symbol;
    int power;
  };

  const UnitRegistry& units;
  std::string_view whole;  // the text that errors show
  std::size_t at;          // where in it the unit starts, then the cursor
  const Location& where;

  Exponents exps;
  UnitScale scale;
  std::array<Factor, 16> factors;  // the first `count`; clearing all would cost as much as a look-up
  std::size_t count = 0;

  Reader(const UnitRegistry& table, std::string_view text, std::size_t start, const Location& place)
      : units(table), whole(text), at(start), where(place) {}

  void read();
  [[nodiscard]] std::string spelling() const;
  [[noreturn]] void fail(detail::UnitFault fault, std::string found, std::string expected, std::string hint,
                         std::size_t column) const;

 private:
  [[nodiscard]] bool done() const { return at >= whole.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : whole[at]; }
  void skip_blanks() {
    while (!done() && detail::is_blank(whole[at])) ++at;
  }
  std::string_view word();
  const Symbol& symbol();
  int power();
  void factor(int sign);
  void reject_operator();
};

}  // namespace mlsysim
