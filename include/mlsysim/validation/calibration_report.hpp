#pragma once
/// Renders a calibration: constants with uncertainty, correlations, errors before and after, and coverage of
/// intervals.
///
///   of prior = spread / prior_spread
///
/// A constant that is not identified shows as "kept", with the reason and points of `mlsysim measure` that
/// identify it.
/// Example: spread 0.026 after the fit and prior_spread 0.059: "of prior" 0.44 and state "fitted".

#include <mlsysim/report/render_options.hpp>
#include <mlsysim/validation/calibrate.hpp>

#include <string>

namespace mlsysim {

/// The calibration in the format of the options. Correlations above 0.8 are listed.
[[nodiscard]] std::string render(const Calibration& calibration, const RenderOptions& options);

}  // namespace mlsysim
