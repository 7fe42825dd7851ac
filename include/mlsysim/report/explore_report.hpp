#pragma once
/// Renders the answers of sensitivity, solve, uncertainty, compare and search as text, Markdown, JSON or CSV.
///
/// Brief text starts with the verdict. JSON has a schema name for each kind of answer. The JSON of a search
/// contains no run times, so equal answers have equal bytes.
/// Example: comparing ITL 20 ms (first) with 15 ms (second): "ITL: 15 ms instead of 20 ms (-25 %). The second
/// is better."

#include <mlsysim/report/render_options.hpp>
#include <mlsysim/report/table.hpp>

#include <string>

namespace mlsysim {

struct DifferenceReport;
struct ExploreAnswer;
struct Infeasible;
struct NumberInterval;
struct SensitivityReport;
struct SolveAnswer;
struct UncertaintyReport;

/// Levers, largest effect first. Brief text has the verdict and the choices and hardware parameters that
/// matter, under their labels. JSON, schema "mlsysim/sensitivity@1": every number of the report.
[[nodiscard]] std::string render(const SensitivityReport& report, const RenderOptions& options);
/// The answer with all solutions. JSON, schema "mlsysim/solve@1". CSV: one line per solution.
[[nodiscard]] std::string render(const SolveAnswer& answer, const RenderOptions& options);
/// Results with their spread and the share of each uncertain input. JSON, schema "mlsysim/uncertainty@1".
[[nodiscard]] std::string render(const UncertaintyReport& report, const RenderOptions& options);
/// The terms of a difference, largest first; in brief text behind the verdict. JSON, schema
/// "mlsysim/difference@1".
/// @param from,to ranges of the result on both sides, for brief text
[[nodiscard]] std::string render(const DifferenceReport& report, const RenderOptions& options,
                                 const NumberInterval* from = nullptr, const NumberInterval* to = nullptr);
/// The best points, or the front, as a table; its footer counts points and says what excludes them.
[[nodiscard]] Table points_table(const ExploreAnswer& answer);
/// Renders the points. JSON, schema "mlsysim/exploration@1": counts, constraints with their smallest
/// relaxation, points, certificate.
[[nodiscard]] std::string render(const ExploreAnswer& answer, const RenderOptions& options);
/// Why there is no answer. JSON, schema "mlsysim/infeasible@1": feasible (false), reason, smallest_change,
/// facts.
[[nodiscard]] std::string render(const Infeasible& why, const RenderOptions& options);

}  // namespace mlsysim
