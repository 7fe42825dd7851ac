#pragma once
/// Rows of one device that cannot both be right.

#include "fit_problem.hpp"

#include <span>
#include <vector>

namespace mlsysim::detail {

/// Refuses rows that measured the same kernel on the device and differ by more than a factor: another tenant,
/// a capped clock, a debug build. Rows of whole systems are left alone, their software differs.
/// @throws InputError that names both rows
void refuse_disagreement(const std::vector<FitRow>& rows, std::span<const MeasuredTable> tables);

}  // namespace mlsysim::detail
