#pragma once
/// Validation results for readers, programs and pages.

#include <mlsysim/report/render_options.hpp>
#include <mlsysim/validation/validate.hpp>

#include <span>
#include <string>

namespace mlsysim {

/// Text, JSON, Markdown or CSV. Text and Markdown: one line per table, and per table what was left out, what
/// terms are worth and the worst rows (text: only when verbose or for a single table). The same results give
/// the same bytes.
[[nodiscard]] std::string render(std::span<const TableResult> results, const RenderOptions& options);

/// A value of a measurand for readers: "16.2 ms".
[[nodiscard]] std::string shown_value(double base, const Measurand& measurand);

/// One page with the same tables and a plot of predicted against measured for each; no scripts, nothing from
/// elsewhere.
[[nodiscard]] std::string render_html(std::span<const TableResult> results);

}  // namespace mlsysim
