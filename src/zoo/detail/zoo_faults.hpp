#pragma once
/// The errors of the room `zoo`, in one table: stable id and what it stands for.

#include <mlsysim/units/error.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace mlsysim::detail {

enum class ZooFault : std::uint8_t {
  no_file,
  not_a_file,
  unreadable,
  too_large,
  binary,
  empty_file,
  syntax,
  several_documents,
  no_anchors,
  duplicate_key,
  foreign_boolean,
  too_deep,
  bad_key,
  no_schema,
  unknown_kind,
  newer_version,
  older_version,
  wrong_shape,
  unknown_key,
  missing_key,
  missing_unit,
  bad_quantity,
  not_a_number,
  out_of_range,
  unknown_choice,
  not_a_flag,
  not_a_text,
  unknown_entry,
  missing_source,
  bad_date,
  unknown_reference,
  no_range,
  no_formula,
  bad_range,
  name_taken,
  no_zoo,
  alias_unit,
  not_verified,
  no_own_source,
  borrowed,
  bad_cache,
  contradiction,
};

struct ZooFaultText {
  ZooFault fault;
  std::string_view id;
  std::string_view meaning;
  std::optional<BreakReason> reason{};
};

/// All faults, in order of their values.
[[nodiscard]] std::span<const ZooFaultText> zoo_faults();
/// The stable id of a fault.
[[nodiscard]] std::string_view id_of(ZooFault fault);
/// The reason of the breaks that a fault makes.
[[nodiscard]] std::optional<BreakReason> reason_of(ZooFault fault);

}  // namespace mlsysim::detail
