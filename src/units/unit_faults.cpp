#include "detail/unit_faults.hpp"

#include <array>
#include <utility>

namespace mlsysim::detail {
namespace {

// Ids are stable: never renumber, only append.
constexpr std::array<UnitFaultText, 21> kFaults{{
    {UnitFault::empty_text, "mlsysim.unit.001", "there is no quantity in an empty text"},
    {UnitFault::no_number, "mlsysim.unit.002", "a quantity begins with a number"},
    {UnitFault::number_form, "mlsysim.unit.003", "this form of number is not read"},
    {UnitFault::out_of_range, "mlsysim.unit.004", "the number does not fit into a double in base units"},
    {UnitFault::two_numbers, "mlsysim.unit.005", "a quantity has one number"},
    {UnitFault::unknown_unit, "mlsysim.unit.006", "unknown unit"},
    {UnitFault::refused_unit, "mlsysim.unit.007", "readers disagree about this unit, so it is refused"},
    {UnitFault::broken_expression, "mlsysim.unit.008", "this unit expression cannot be read"},
    {UnitFault::bad_power, "mlsysim.unit.009", "a power in a unit is a whole number from -127 to 127, not 0"},
    {UnitFault::too_large, "mlsysim.unit.010", "the unit expression is too large to be held exactly"},
    {UnitFault::taken, "mlsysim.unit.011", "the spelling of a unit is taken"},
    {UnitFault::malformed_unit, "mlsysim.unit.012", "the definition of a unit is malformed"},
    {UnitFault::wrong_dimension, "mlsysim.unit.013", "a quantity has the wrong dimension"},
    {UnitFault::missing_unit, "mlsysim.unit.014", "a unit is missing"},
    {UnitFault::unexpected_unit, "mlsysim.unit.015", "a plain number is due, without a unit"},
    {UnitFault::mixed_dimensions, "mlsysim.unit.016", "two quantities of different dimension meet"},
    {UnitFault::exponent_range, "mlsysim.unit.017", "the dimension of a product is out of range"},
    {UnitFault::not_finite, "mlsysim.unit.018", "a number that is not finite cannot be written",
     BreakReason::numeric},
    {UnitFault::unit_dimension, "mlsysim.unit.019",
     "a quantity cannot be expressed in a unit of another dimension"},
    {UnitFault::digits_range, "mlsysim.unit.020", "the number of significant digits is out of range"},
    {UnitFault::text_too_long, "mlsysim.unit.021", "the text is too long for a quantity"},
}};

}  // namespace

std::span<const UnitFaultText> unit_faults() { return kFaults; }

ErrorFacts facts_of(UnitFault fault, std::string found, std::string expected, std::string hint,
                    Location where) {
  const auto& row = kFaults[static_cast<std::size_t>(fault)];
  ErrorFacts facts;
  facts.id = row.id;
  facts.message = row.message;
  facts.found = std::move(found);
  facts.expected = std::move(expected);
  facts.hint = std::move(hint);
  facts.where = std::move(where);
  facts.reason = row.reason;
  return facts;
}

namespace {
/// Length of the well-formed UTF-8 sequence at the front of `text`; 0 where there is none.
std::size_t sequence_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t size = lead < 0x80   ? 1
                           : lead < 0xc2 ? 0
                           : lead < 0xe0 ? 2
                           : lead < 0xf0 ? 3
                           : lead < 0xf5 ? 4
                                         : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  const auto second = size > 1 ? static_cast<unsigned char>(text[1]) : 0;
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool outside = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
  return overlong || outside ? 0 : size;
}
}  // namespace

// Messages end up in JSON and on terminals, so they are valid UTF-8 whatever was read.
std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string out = "'";
  std::size_t i = 0;
  while (i < text.size() && i < longest) {
    const auto size = sequence_length(text.substr(i));
    const auto code = static_cast<unsigned char>(text[i]);
    if (size == 0 || code < 0x20 || code == 0x7f) {
      out += '?';
      ++i;
    } else {
      out += text.substr(i, size);
      i += size;
    }
  }
  return out + (i < text.size() ? "...'" : "'");
}

}  // namespace mlsysim::detail
