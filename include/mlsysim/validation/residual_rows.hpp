#pragma once
/// Predicts the rows of measured tables and groups their residuals, as data for prediction intervals.
///
///   residual = log(measured / predicted)      opposite sign for rates
///
/// A device with measured kernels is also predicted with the parameters of its class, as a second group
/// (unmeasured). Rows without a prediction are skipped.
/// Example: kernels/azure_hbm_a100_h100 gives groups of 5 rows for the A100 and the H100, each in both forms.

#include <mlsysim/intervals/residual_groups.hpp>
#include <mlsysim/validation/validate.hpp>

#include <span>
#include <vector>

namespace mlsysim {

/// The residuals of all rows, grouped by metric, device, engine or table, model or group of the table, and
/// kind of link. @throws as `rows_of`
[[nodiscard]] std::vector<ResidualGroup> residual_groups(std::span<const MeasuredTable> tables,
                                                         const Zoo& zoo);

}  // namespace mlsysim
