#pragma once
/// A run of a pipeline, for readers and programs.

#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/report/render_options.hpp>

#include <string>

namespace mlsysim {

/// Results of every stage with units; why a stage has none; assumptions (their number alone when brief).
/// JSON is `Run::to_json`. CSV: one line per result field.
[[nodiscard]] std::string render(const Run& run, const RenderOptions& options);

}  // namespace mlsysim
