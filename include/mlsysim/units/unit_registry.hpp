#pragma once
/// The table of units that texts may use, and the reader of quantity texts.
///
/// Grammar: `number unit`, blanks optional. A unit is factors joined by `*` and `/`, each with an optional
/// `^int`. `/` binds only the next factor, so `FLOP/param/token` is FLOP/(param*token). There are no
/// parentheses. Spellings are case-sensitive. Aliases are a closed list. Spellings on which readers disagree
/// are refused.
/// Example: `parse("1 Gbps")` is 125,000,000 B/s and `parse("80GiB")` 85,899,345,920 B. `parse("3 TFLOPS")`
/// throws UnitError, which suggests TFLOP/s or TFLOP.

#include <mlsysim/units/any_quantity.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// A unit as it enters the table.
struct UnitDef {
  std::string symbol;  ///< letters first, digits after: "B", "gCO2e"
  Exponents exps;      ///< its dimension
  double mul = 1;  ///< base units per unit = mul / div; whole numbers up to 2^53, so that nothing is rounded
  double div = 1;
  std::string decimal;  ///< decimal prefixes that it takes, of "pnumkMGTPEZ"
  std::string binary;   ///< binary prefixes that it takes, of "KMGTPE" ("K" for Ki); none but for B and bit
  std::string meaning;  ///< one line, with the convention where there is one

  friend bool operator==(const UnitDef&, const UnitDef&) = default;
};

/// A spelling that is read but never written.
struct UnitAlias {
  std::string spelling;   ///< "Gbps"
  std::string canonical;  ///< "Gbit/s"
};

/// A spelling that is refused because readers disagree about it.
struct UnitRefusal {
  std::string spelling;  ///< "TFLOPS"
  std::string hint;      ///< what to write instead
};

/// The exact factor `num / den * 10^pow10` of a unit; without common factors or tens in `num` and `den`.
///
/// Equality compares the three numbers: 45 * 10 and 9 / 2 * 100 are the same factor in two forms.
struct UnitScale {
  std::uint64_t num = 1, den = 1;
  int pow10 = 0;
  friend bool operator==(const UnitScale&, const UnitScale&) = default;
};

/// A unit expression that was read.
struct UnitExpr {
  Exponents exps;
  UnitScale scale;       ///< exact
  double mul = 1;        ///< number * mul / div is the number in the canonical base unit,
  double div = 1;        ///< as in `Unit<D>`: reduced whole numbers, one of them 1 for almost every unit
  std::string spelling;  ///< canonical: no aliases, no blanks
};

/// Units, aliases and refusals; reads texts. A value: tests and plugins may extend a copy of `standard()`.
///
/// Reading is thread-safe; adding is not.
class UnitRegistry {
 public:
  /// An empty table.
  UnitRegistry() = default;
  /// The shipped table.
  [[nodiscard]] static const UnitRegistry& standard();

  /// Reads a unit; an empty text is the dimensionless unit. @throws UnitError
  [[nodiscard]] UnitExpr parse_unit(std::string_view text, const Location& where = {}) const;
  /// Reads a quantity: "3.35 TB/s", "80GiB", "1 TFLOPs/s / W", "12 %", "0.5". The number is rounded once, to
  /// nearest.
  /// @throws UnitError with the text, the place, and a suggestion where there is a near one
  AnyQuantity parse(std::string_view text, const Location& where = {}) const;

  /// Adds a unit with all its prefixed spellings, or nothing. Adding the very same unit again changes
  /// nothing.
  /// @throws UnitError if the definition is malformed or a spelling is taken
  void add(const UnitDef& unit);
  /// Adds a spelling for a unit expression that is already readable. @throws UnitError
  void add_alias(const UnitAlias& alias);
  /// Adds a spelling that is refused with a hint. @throws UnitError
  void add_refusal(const UnitRefusal& refusal);

  [[nodiscard]] std::span<const UnitDef> units() const { return units_; }
  [[nodiscard]] std::span<const UnitAlias> aliases() const { return aliases_; }
  [[nodiscard]] std::span<const UnitRefusal> refusals() const { return refusals_; }
  /// Every canonical spelling, prefixed ones included, in order of addition.
  [[nodiscard]] std::vector<std::string> spellings() const;

 private:
  enum class Kind : std::uint8_t { canonical, alias, refused };
  struct Symbol {
    std::string spelling;
    Kind kind = Kind::canonical;
    Exponents exps;
    UnitScale scale;
    std::string note;  // canonical expression of an alias, hint of a refusal
  };
  struct Reader;

  [[nodiscard]] const Symbol* find(std::string_view spelling) const;
  void insert(Symbol symbol);
  [[noreturn]] void refuse_conflict(std::string_view spelling) const;
  [[nodiscard]] std::string hint_for(std::string_view unknown) const;

  std::vector<UnitDef> units_;
  std::vector<UnitAlias> aliases_;
  std::vector<UnitRefusal> refusals_;
  std::vector<Symbol> symbols_;
  std::vector<std::uint32_t> slots_;  // open addressing: index into symbols_ plus 1, or 0
};

}  // namespace mlsysim
