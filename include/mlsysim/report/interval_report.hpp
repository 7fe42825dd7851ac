#pragma once
/// Intervals for readers and programs.

#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/report/render_options.hpp>

#include <span>
#include <string>

namespace mlsysim {

/// One row a number: its interval, the parts of the zoo's ranges and of the model's error, and on which
/// measurements the latter rests. JSON, schema "mlsysim/intervals@1".
[[nodiscard]] std::string render(std::span<const NumberInterval> intervals, const RenderOptions& options);

/// A report with the intervals of its numbers: below it in text and markdown, under the key "intervals" in
/// JSON. CSV holds the intervals alone, one line a number.
/// @param report as rendered with the same options
[[nodiscard]] std::string with_intervals(std::string report, std::span<const NumberInterval> intervals,
                                         const RenderOptions& options);

}  // namespace mlsysim
