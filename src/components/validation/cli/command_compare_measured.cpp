#include "cli/commands.hpp"

#include <mlsysim/report/table.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/validation/report.hpp>
#include <mlsysim/validation/residual_rows.hpp>
#include <mlsysim/validation/residuals.hpp>

#include <fmt/format.h>

namespace mlsysim::cli {

std::vector<ResidualGroup> measured_groups(const CompareMeasuredRequest& request) {
  const MeasuredTable tables[] = {table_of_file(request.against, request.measurand)};
  return residual_groups(tables, zoo());
}

Answer compare_measured(const CompareMeasuredRequest& request, const RenderOptions& options) {
  const auto table = table_of_file(request.against, request.measurand);
  const auto analysis = analyse_residuals(table, zoo());
  Table t{.schema = "mlsysim/residuals@1", .title = "what explains the residuals"};
  t.columns = {{"explanation"},  {"factor"},     {"explained"}, {"median before"},
               {"median after"}, {"mean after"}, {"look at"}};
  const bool readable = options.format == OutputFormat::text || options.format == OutputFormat::markdown;
  const auto share = [&](double x) -> Table::Cell {
    if (readable) return fmt::format("{:.1f} %", 100 * x);
    return x;
  };
  for (const auto& e : analysis.explanations)
    t.rows.push_back({e.term,
                      readable && e.term == "fixed time" ? Table::Cell(pretty(e.factor * mlsysim::unit::s))
                                                         : Table::Cell(e.factor),
                      share(e.explained), share(analysis.before.median), share(e.after.median),
                      share(e.after.mean), e.advice});
  if (options.format == OutputFormat::text)
    t.footer = fmt::format("{} rows; a factor belongs to the term alone, the others as predicted",
                           analysis.rows.size());
  Answer answer{render(t, options)};
  // Beside the result: a table has no place for it.
  if (!analysis.defaulted.empty())
    answer.diagnostics =
        fmt::format("mlsysim: note: inputs at their defaults: {}\n", fmt::join(analysis.defaulted, ", "));
  if (options.format != OutputFormat::text || options.verbosity != Verbosity::verbose) return answer;
  Table rows{.schema = "mlsysim/table@1", .title = "rows"};
  rows.columns = {{"row"}, {"measured"}, {"predicted"}, {"error"}};
  for (const auto& r : analysis.rows)
    rows.rows.push_back({r.label, shown_value(r.measured, *table.measurand),
                         shown_value(r.predicted, *table.measurand), share(r.error())});
  answer.payload += "\n" + render(rows, options);
  return answer;
}

}  // namespace mlsysim::cli
