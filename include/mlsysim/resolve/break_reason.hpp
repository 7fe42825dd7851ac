#pragma once
/// The names of the reasons for which there is no full answer.

#include <mlsysim/table/choice.hpp>
#include <mlsysim/units/error.hpp>

#include <array>
#include <string_view>

namespace mlsysim {

/// The names may be labels of metrics.
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
