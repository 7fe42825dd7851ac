#pragma once
/// Rows of measured tables as groups of residuals.

#include <mlsysim/intervals/residual_groups.hpp>
#include <mlsysim/validation/validate.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace mlsysim {

/// The kind of question that a measurand answers: "time between tokens", "matrix product". What no
/// scorecard asks is a kind of its own, by its name.
/// @pre the name of a measurand
[[nodiscard]] std::string_view question_of(std::string_view measurand);

/// Predicts every row and groups what was missed by question, device, engine or table, and model or group of
/// the table. @throws as `validate`
[[nodiscard]] std::vector<ResidualGroup> residual_groups(std::span<const MeasuredTable> tables,
                                                         const Zoo& zoo);

}  // namespace mlsysim
