#pragma once
/// Chooses the conventions (default efficiencies, overheads, prices) of a resolver.
///
/// Example: `conventions_or_standard(nullptr).pue` is 1.12, the value in `zoo/defaults.yaml`.

#include <mlsysim/specs/conventions.hpp>

namespace mlsysim {

/// The caller's conventions, or those of the standard zoo for a null pointer.
[[nodiscard]] const Conventions& conventions_or_standard(const Conventions* conventions);

}  // namespace mlsysim
