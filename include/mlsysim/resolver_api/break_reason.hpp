#pragma once
/// The names of the reasons for which there is no full answer.

#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/units/error.hpp>

namespace mlsysim {

/// The names may be labels of metrics.
template <> inline constexpr auto names_of<BreakReason> = ChoiceNames{"reason of breaks"};

}  // namespace mlsysim
