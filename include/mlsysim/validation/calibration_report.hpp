#pragma once
/// Calibrations for readers and programs.

#include <mlsysim/report/render_options.hpp>
#include <mlsysim/validation/calibrate.hpp>

#include <string>

namespace mlsysim {

/// Constants with their uncertainty and what could not be identified, correlations that are strong, errors
/// before, after and on groups left out, and how many rows lie inside their interval.
[[nodiscard]] std::string render(const Calibration& calibration, const RenderOptions& options);

}  // namespace mlsysim
