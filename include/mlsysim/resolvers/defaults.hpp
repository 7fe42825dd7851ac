#pragma once
/// The defaults that a resolver works with.

#include <mlsysim/specs/conventions.hpp>

namespace mlsysim {

/// The conventions that a resolver works with: the caller's, or those of the standard zoo.
[[nodiscard]] const Conventions& conventions_or_standard(const Conventions* conventions);

}  // namespace mlsysim
