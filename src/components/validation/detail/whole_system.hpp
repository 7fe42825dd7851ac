#pragma once
/// Tables of whole systems, apart from those of kernels and collectives.

#include <mlsysim/validation/measurand.hpp>

namespace mlsysim::detail {

/// Whether a measurand is a time, rate or energy of serving, training or inference as a whole.
[[nodiscard]] bool is_whole_system(const Measurand& measurand);

}  // namespace mlsysim::detail
