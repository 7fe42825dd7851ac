#include "row_text.hpp"

#include <mlsysim/resolver_api/expression.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/detail/quoted.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/compile.h>
#include <fmt/format.h>

#include <array>
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
  constexpr std::size_t kept = 4096;
  for (const auto& a : space_.axes()) {
    auto& labels = labels_.emplace_back();
    for (std::size_t row = 0; a.size() <= kept && row < a.size(); ++row) labels.push_back(cell(a.label(row)));
  }
  header_ = format_ == RowFormat::csv ? fmt::format("{}\n", fmt::join(names_, ",")) : "{\"index\":";
}

std::string RowText::cell(const std::string& text) const {
  if (format_ == RowFormat::lines) return detail::json_text(nlohmann::ordered_json(text));
  return detail::csv_field(text);
}

std::string RowText::label(std::size_t axis, std::size_t row) const {
  return labels_[axis].empty() ? cell(space_.axes()[axis].label(row)) : labels_[axis][row];
}

void RowText::append(const RowBlock& b, std::string& out) const {
  const bool lines = format_ == RowFormat::lines;
  const auto axes = space_.axes().size();
  // Text before each value: commas, and keys in JSON. Only axes whose row changes get a new text.
  std::vector<std::string> before;
  for (std::size_t c = 0; c < names_.size(); ++c)
    before.push_back(lines ? fmt::format("{}{}:", c == 0 ? "{" : ",", names_[c]) : c == 0 ? "" : ",");
  auto at = space_.rows_at(b.first);
  std::vector<std::string> texts;
  for (std::size_t a = 0; a < axes; ++a) texts.push_back(label(a, at[a]));
  std::array<char, 32> digits{};
  const auto number = [&](auto x) {
    char* const end = fmt::format_to(digits.data(), FMT_COMPILE("{}"), x);
    out.append(digits.data(), end);
  };
  for (std::size_t p = 0; p < b.points; ++p) {
    std::size_t column = 0;
    out += before[column++];
    number(b.first + p);
    for (std::size_t a = 0; a < axes; ++a) {
      out += before[column++];
      out += texts[a];
    }
    out += before[column++];
    out += lines ? (b.feasible[p] != 0 ? "true" : "false") : (b.feasible[p] != 0 ? "1" : "0");
    for (std::size_t k = 0; k < question_.show.size(); ++k) {
      out += before[column++];
      if (b.skipped.empty() && std::isfinite(b.shown[k][p]))
        number(b.shown[k][p] / scales_[k]);
      else if (lines)
        out += "null";
    }
    out += lines ? "}\n" : "\n";
    if (p + 1 == b.points) break;
    for (std::size_t a = axes; a-- > 0;) {
      const bool over = ++at[a] == space_.axes()[a].size();
      if (over) at[a] = 0;
      texts[a] = label(a, at[a]);
      if (!over) break;
    }
  }
}

}  // namespace mlsysim::cli
