#pragma once
/// The errors of the room `units`, in one table: stable id and text.

#include <mlsysim/units/error.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mlsysim::detail {

enum class UnitFault : std::uint8_t {
  empty_text,
  no_number,
  number_form,
  out_of_range,
  two_numbers,
  unknown_unit,
  refused_unit,
  broken_expression,
  bad_power,
  too_large,
  taken,
  malformed_unit,
  wrong_dimension,
  missing_unit,
  unexpected_unit,
  mixed_dimensions,
  exponent_range,
  not_finite,
  unit_dimension,
  digits_range,
  text_too_long,
};

struct UnitFaultText {
  UnitFault fault;
  std::string_view id;
  std::string_view message;
  std::optional<BreakReason> reason{};
};

/// All faults, in order of their values.
[[nodiscard]] std::span<const UnitFaultText> unit_faults();

/// Error facts with the id and the message of the table.
[[nodiscard]] ErrorFacts facts_of(UnitFault fault, std::string found, std::string expected, std::string hint,
                                  Location where = {});

/// A text in quotes for a message: control characters shown as '?', long texts cut.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace mlsysim::detail
