#pragma once
/// Refuses infinite and undefined numbers, so that no answer contains one.
///
/// The error lists the inputs whose base value is at most 1e-12 or at least 1e18: they may be the cause.
/// Example: `check_finite("itl", HUGE_VAL, scenario)` throws "the scenario has no finite itl".

#include <mlsysim/engine/scenario.hpp>

#include <string_view>

namespace mlsysim::detail {

/// Returns for a finite number. @throws DomainError otherwise
void check_finite(std::string_view name, double value, const Scenario& scenario);

}  // namespace mlsysim::detail
