#pragma once
/// Renders validation results as text, JSON, Markdown, CSV, or an HTML page with plots.
///
/// Equal results give equal bytes. The HTML page has no scripts and no external files.
/// Example: `shown_value(0.0162, measurand("closed_loop_token_time"))` is "16.2 ms".

#include <mlsysim/report/render_options.hpp>
#include <mlsysim/validation/validate.hpp>

#include <span>
#include <string>

namespace mlsysim {

/// Text and Markdown: one line per table, then for each table the left-out rows, the ablations and the worst
/// rows (text: only when verbose or for a single table).
[[nodiscard]] std::string render(std::span<const TableResult> results, const RenderOptions& options);

/// A value of a measurand with a readable unit. @param base in the base unit
[[nodiscard]] std::string shown_value(double base, const Measurand& measurand);

/// One page with these tables and a plot of predicted against measured for each.
[[nodiscard]] std::string render_html(std::span<const TableResult> results);

}  // namespace mlsysim
