#pragma once
/// Writes laws and derivations as LaTeX equations, from the operations that the law performs when it runs.
///
/// Documentation made this way cannot differ from the code.
/// Example: `to_latex(entry_of<Roofline>())` gives three equations, and the last one is `\mathrm{time} =
/// \max\left(\mathrm{compute}, \mathrm{memory}\right)`.

#include <mlsysim/tape/derivation.hpp>
#include <mlsysim/tape/law_entry.hpp>

#include <string>
#include <vector>

namespace mlsysim {

/// Equations of a law, one for each named intermediate and each result: `\mathrm{time} =
/// \max\left(...\right)`.
///
/// The law is recorded at a point inside its ranges, and its operations are written with the names of its
/// inputs. A branch shows both sides. A loop shows as many rounds as that point has. Where `loops` is set,
/// the law's own equation text reads better.
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
