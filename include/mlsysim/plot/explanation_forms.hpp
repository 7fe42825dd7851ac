#pragma once
/// Renders the derivation of a number with typeset equations: as HTML or LaTeX.
///
/// Other forms are in report/explanation_report.hpp.
/// Example: the derivation of itl as LaTeX begins with a comment that holds the value and its unit.

#include <mlsysim/explore/subject/explanation.hpp>
#include <mlsysim/report/render_options.hpp>

#include <string>

namespace mlsysim {

/// The text above the laws, and the laws with their equations as MathML: a part of an HTML page.
[[nodiscard]] std::string to_html(const Explanation& explanation, Verbosity verbosity = Verbosity::brief);
/// The derivation as LaTeX for a document with amsmath.
[[nodiscard]] std::string to_latex(const Explanation& explanation, Verbosity verbosity = Verbosity::brief);

}  // namespace mlsysim
