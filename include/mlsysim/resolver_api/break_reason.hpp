#pragma once
/// Texts of the reasons for which there is no full answer, as used in labels of metrics.
///
/// Example: `name_of(BreakReason::infeasible_memory)` is "infeasible_memory".

#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/units/error.hpp>

namespace mlsysim {

template <> inline constexpr auto names_of<BreakReason> = ChoiceNames{"reason of breaks"};

}  // namespace mlsysim
