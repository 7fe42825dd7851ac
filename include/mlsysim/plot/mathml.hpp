#pragma once
/// Writes derivations as HTML with MathML, which browsers draw as formulas without a script or a font.
///
/// Example: the derivation of Roofline begins with `<p><b>[1] Roofline</b> <code>time = max(work / peak,
/// traffic / bandwidth)</code>`.

#include <mlsysim/tape/derivation.hpp>

#include <string>

namespace mlsysim {

/// A derivation as a part of an HTML page: per call a paragraph with its law, equation and source, a table of
/// its inputs and results and where they came from, and its equations as `<math>` with names and with numbers
/// (base units). Calls are numbered as in the text form; every text is escaped once.
[[nodiscard]] std::string to_mathml(const Derivation& derivation, Repeats repeats = Repeats::shown);

}  // namespace mlsysim
