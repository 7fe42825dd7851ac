#pragma once
/// Renders prediction intervals: the range, its parts from the zoo and from the model error, and the
/// measurements behind.
///
///   part = 100 % * (low / value - 1) .. 100 % * (high / value - 1)
///
/// Example: ITL 15.2 ms with the 80 % range 14.1 to 18.4 ms, zoo ranges 15.0 to 15.5 ms and model error
/// factors 0.93 to 1.2: the row shows "-1.3 % .. +2 %" by ranges of the zoo and "-7 % .. +20 %" by error of
/// the model.

#include <mlsysim/report/render_options.hpp>

#include <span>
#include <string>

namespace mlsysim {

struct NumberInterval;

/// One row for each number. JSON, schema "mlsysim/intervals@1".
[[nodiscard]] std::string render(std::span<const NumberInterval> intervals, const RenderOptions& options);

/// A report with the intervals of its numbers: below it in text and markdown, under the key "intervals" in
/// JSON. CSV holds the intervals alone, one line a number.
/// @param report as rendered with the same options
[[nodiscard]] std::string with_intervals(std::string report, std::span<const NumberInterval> intervals,
                                         const RenderOptions& options);

}  // namespace mlsysim
