#pragma once
/// Derivations for readers and programs.

#include <mlsysim/explore/subject/explanation.hpp>
#include <mlsysim/report/render_options.hpp>

#include <string>

namespace mlsysim {

/// Text: the number, what was handed in, the terms and figures of a scenario, then the derivation law by law;
/// brief, a law that is called many times is written out once. Markdown: the same with tables. JSON, schema
/// "mlsysim/explanation@1": the derivation as a tree of calls, each with its inputs, results, operations and
/// the calls inside it. CSV: the operators of the pass where the number is a sum over operators, else one
/// line for each input and result of each call.
[[nodiscard]] std::string render(const Explanation& explanation, const RenderOptions& options);
/// The text above the laws, and the laws with their equations as MathML: a part of an HTML page.
[[nodiscard]] std::string to_html(const Explanation& explanation, Verbosity verbosity = Verbosity::brief);
/// The derivation as LaTeX for a document with amsmath.
[[nodiscard]] std::string to_latex(const Explanation& explanation, Verbosity verbosity = Verbosity::brief);

}  // namespace mlsysim
