#pragma once
/// Rows of measured tables as groups of residuals.

#include <mlsysim/intervals/residual_groups.hpp>
#include <mlsysim/validation/validate.hpp>

#include <span>
#include <vector>

namespace mlsysim {

/// Predicts every row and groups what was missed by metric, device, engine or table, and model or group of
/// the table. @throws as `validate`
[[nodiscard]] std::vector<ResidualGroup> residual_groups(std::span<const MeasuredTable> tables,
                                                         const Zoo& zoo);

}  // namespace mlsysim
