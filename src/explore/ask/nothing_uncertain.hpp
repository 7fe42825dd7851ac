#pragma once
// The refusal of a question about uncertainty where nothing is uncertain.

#include <mlsysim/units/error.hpp>

namespace mlsysim::detail {

struct NothingUncertain : InputError {
  using InputError::InputError;
};

}  // namespace mlsysim::detail
