#pragma once
// Limits of power and clock: from a request into a plan.

#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/views.hpp>

#include <optional>

namespace mlsysim::detail {

/// Puts the limits of a request into its plan.
/// @return whether there are any, so that passes are priced at the clock that they leave
/// @throws InputError where a device states no TDP; DomainError for a cap that leaves nothing for work
[[nodiscard]] bool set_power_limits(Plan<>& plan, std::optional<Power<>> power_cap, double clock_limit,
                                    const HardwareNode& hardware, const Conventions& conventions,
                                    Notes& notes);

}  // namespace mlsysim::detail
