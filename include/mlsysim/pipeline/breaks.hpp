#pragma once
/// Breaks: places where a run has no full answer, each with a reason, an identifier and a severity.
///
/// Severity "error": there is no answer. Severity "degraded": there is one, but not the full one.
/// Example: a model that does not fit is MB007, an error. A coarser model that stood in is MB017, degraded.

#include <mlsysim/resolver_api/break_reason.hpp>
#include <mlsysim/resolver_api/outcome.hpp>

#include <exception>
#include <string_view>

namespace mlsysim {

/// Id, severity and texts of a break reason.
struct BreakInfo {
  std::string_view id;        ///< "MB007"
  std::string_view severity;  ///< "error" or "degraded"
  std::string_view text, hint;
};
[[nodiscard]] const BreakInfo& about(BreakReason reason);
/// The reason that an error states, otherwise the reason of its type.
[[nodiscard]] BreakReason break_reason(const std::exception_ptr& error);
/// The reason behind an infeasible stage, by the constraint that binds.
[[nodiscard]] BreakReason break_reason(const Infeasible& why);

}  // namespace mlsysim
