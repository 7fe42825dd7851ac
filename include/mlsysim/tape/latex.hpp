#pragma once
/// Laws as LaTeX, written from the trace of the law itself, so that the documentation cannot say something
/// else.

#include <mlsysim/tape/derivation.hpp>
#include <mlsysim/tape/law_entry.hpp>

#include <string>
#include <vector>

namespace mlsysim {

/// Equations of a law, one for each named intermediate and each result: `\mathrm{time} =
/// \max\left(...\right)`.
///
/// The law is run once with tracing at a point inside its ranges; the operations are then written with the
/// names of its inputs. A branch shows both sides. A loop shows as many rounds as that point has, so laws
/// with loops are better shown by their own text: `loops` in the answer says so.
struct LatexLaw {
  std::vector<std::string> equations;
  bool loops = false;        ///< the number of operations depends on the point
  bool long_winded = false;  ///< an equation is too long to read
};
[[nodiscard]] LatexLaw to_latex(const LawEntry& law);

/// A derivation as LaTeX for a document with amsmath: per call a paragraph with its law and source, then its
/// inputs, its equations with names and with numbers (base units), and its results. Calls are numbered as in
/// the text form.
[[nodiscard]] std::string to_latex(const Derivation& derivation, Repeats repeats = Repeats::shown);

/// A name as LaTeX: `memory_share` becomes `\mathrm{memory\_share}`.
[[nodiscard]] std::string latex_name(std::string_view name);

}  // namespace mlsysim
