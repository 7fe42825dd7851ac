#include "row_text.hpp"

#include <mlsysim/resolver_api/expression.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/detail/quoted.hpp>
#include <mlsysim/units/format.hpp>

#include <cmath>

namespace mlsysim::cli {

RowText::RowText(const Space& space, const Question& question, RowFormat format)
    : space_(space), question_(question), format_(format), names_{cell("index")} {
  for (const auto& a : space_.axes()) names_.push_back(cell(a.title()));
  names_.push_back(cell("feasible"));
  const ExpressionScope scope{space_.sample().entry.inputs, space_.sample().entry.results};
  for (const auto& text : question_.show) {
    const auto e = Expression::parse(text, scope);
    const std::string unit = e.unit().empty() ? canonical_unit(e.exponents()) : std::string(e.unit());
    names_.push_back(cell(unit.empty() ? text : fmt::format("{} [{}]", text, unit)));
    scales_.push_back(unit.empty() ? 1.0 : AnyQuantity::parse("1 " + unit).base());
  }
  header_ = format_ == RowFormat::csv ? fmt::format("{}\n", fmt::join(names_, ",")) : "{\"index\":";
}

std::string RowText::cell(const std::string& text) const {
  if (format_ == RowFormat::lines) return detail::json_text(nlohmann::ordered_json(text));
  return detail::csv_field(text);
}

void RowText::append(const RowBlock& b, fmt::memory_buffer& out) const {
  const bool lines = format_ == RowFormat::lines;
  const auto to = std::back_inserter(out);
  for (std::size_t p = 0; p < b.points; ++p) {
    const auto at = space_.rows_at(b.first + p);
    std::size_t column = 0;
    const auto put = [&](std::string_view text) {
      if (lines)
        fmt::format_to(to, "{}{}:{}", column == 0 ? "{" : ",", names_[column], text);
      else
        fmt::format_to(to, "{}{}", column == 0 ? "" : ",", text);
      ++column;
    };
    put(fmt::format("{}", b.first + p));
    for (std::size_t a = 0; a < at.size(); ++a) put(cell(space_.axes()[a].label(at[a])));
    put(lines ? (b.feasible[p] != 0 ? "true" : "false") : (b.feasible[p] != 0 ? "1" : "0"));
    for (std::size_t k = 0; k < question_.show.size(); ++k) {
      const bool number = b.skipped.empty() && std::isfinite(b.shown[k][p]);
      put(number ? fmt::format("{}", b.shown[k][p] / scales_[k]) : lines ? "null" : "");
    }
    fmt::format_to(to, "{}\n", lines ? "}" : "");
  }
}

}  // namespace mlsysim::cli
