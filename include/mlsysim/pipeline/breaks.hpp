#pragma once
/// Breaks: places where there is no full answer, and why.

#include <mlsysim/resolve/outcome.hpp>
#include <mlsysim/table/choice.hpp>

#include <array>
#include <cstdint>
#include <exception>
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
/// What is known of a reason.
struct BreakInfo {
  std::string_view id;        ///< "MB007"
  std::string_view severity;  ///< "error": there is no answer; "degraded": there is one, but not the full one
  std::string_view text, hint;
};
[[nodiscard]] const BreakInfo& about(BreakReason reason);
/// The reason behind an error, by its id; of an id that says nothing of its own, by its type.
[[nodiscard]] BreakReason break_reason(const std::exception_ptr& error);
/// The reason behind an infeasible stage, by the constraint that binds.
[[nodiscard]] BreakReason break_reason(const Infeasible& why);

}  // namespace mlsysim
