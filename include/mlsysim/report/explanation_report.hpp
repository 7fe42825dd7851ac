#pragma once
/// Renders the derivation of a number as text, Markdown, JSON or CSV.
///
/// JSON (schema "mlsysim/explanation@1") holds a tree of law calls with inputs, results, operations and inner
/// calls. Brief text writes out a law once and names its later calls "again, as above".
/// Example: the derivation of cost_per_token contains one call of the law CostPerToken. That of itl contains
/// MatmulTime, AttentionTime and SoftRoofline.

#include <mlsysim/explore/subject/explanation.hpp>
#include <mlsysim/report/render_options.hpp>

#include <string>

namespace mlsysim {

/// Text and Markdown: the number, the given inputs, the terms of a scenario and its parameters, then the
/// derivation law by law. CSV: the operators of the pass where the number is a sum over operators, else one
/// line for each input and result of each call.
[[nodiscard]] std::string render(const Explanation& explanation, const RenderOptions& options);
/// Text above the laws: terms, or parameters and assumptions, then the values handed in.
[[nodiscard]] std::string head_of(const Explanation& explanation);

}  // namespace mlsysim
