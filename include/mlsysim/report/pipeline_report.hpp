#pragma once
/// Renders the run of a pipeline: results of every stage with units, or the reason why a stage has none.
///
/// Text and Markdown also list warnings and assumptions (only their number when brief). JSON is
/// `Run::to_json`.
/// Example: stage Roofline with work 1 TFLOP, traffic 1 GB, peak 989 TFLOP/s, bandwidth 3.35 TB/s: the CSV
/// row
///   Roofline,ok,time,1.0111223458038423,ms,0.0010111223458038423,s

#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/report/render_options.hpp>

#include <string>

namespace mlsysim {

/// CSV: one line per result field.
[[nodiscard]] std::string render(const Run& run, const RenderOptions& options);

}  // namespace mlsysim
