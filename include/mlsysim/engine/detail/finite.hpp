#pragma once
/// Numbers that are not finite answer nothing.

#include <mlsysim/engine/scenario.hpp>

#include <string_view>

namespace mlsysim::detail {

/// Lets a finite number pass. @throws DomainError of any other, with the inputs that are so far from everyday
/// numbers that they may be why
void check_finite(std::string_view name, double value, const Scenario& scenario);

}  // namespace mlsysim::detail
