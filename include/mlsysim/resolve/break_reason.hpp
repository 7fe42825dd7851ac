#pragma once
/// The closed list of reasons for which there is no full answer.

#include <mlsysim/table/choice.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace mlsysim {

/// Why there is no full answer: a closed list, whose names may be labels of metrics and whose ids are never
/// used again.
enum class BreakReason : std::uint8_t {
  missing_field,
  missing_stage_input,
  unit_error,
  unsupported_precision,
  unsupported_op,
  dynamic_shape,
  infeasible_memory,
  infeasible_constraint,
  no_solution,
  out_of_domain,
  unknown_hardware,
  unknown_model,
  version_mismatch,
  plugin_error,
  timeout,
  numeric,
  approximation,
  budget_exceeded,
  internal,
  unknown_name,
  invalid_input
};
template <> struct Choices<BreakReason> {
  static constexpr std::string_view what = "reason of breaks";
  static constexpr std::array<std::string_view, 21> names{
      "missing_field",    "missing_stage_input", "unit_error",        "unsupported_precision",
      "unsupported_op",   "dynamic_shape",       "infeasible_memory", "infeasible_constraint",
      "no_solution",      "out_of_domain",       "unknown_hardware",  "unknown_model",
      "version_mismatch", "plugin_error",        "timeout",           "numeric",
      "approximation",    "budget_exceeded",     "internal",          "unknown_name",
      "invalid_input"};
};

}  // namespace mlsysim
