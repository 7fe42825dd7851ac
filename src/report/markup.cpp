#include <mlsysim/report/detail/markup.hpp>
#include <mlsysim/units/detail/markup.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

namespace mlsysim::detail {

std::string cell_words(const Table::Cell& cell) {
  if (const auto* s = std::get_if<std::string>(&cell.value)) return *s;
  if (const auto* x = std::get_if<double>(&cell.value)) return pretty(AnyQuantity::from_base(*x, cell.exps));
  if (const auto* b = std::get_if<bool>(&cell.value)) return *b ? "yes" : "no";
  return {};
}

std::string html_table(const Table& t) {
  std::string out = "<div class=\"wide\"><table><thead><tr>";
  for (const auto& c : t.columns) out += fmt::format("<th scope=\"col\">{}</th>", markup_escaped(c.name));
  out += "</tr></thead><tbody>\n";
  for (const auto& row : t.rows) {
    out += "<tr>";
    for (const auto& cell : row) {
      const bool number = std::holds_alternative<double>(cell.value);
      out += fmt::format("<td{}>{}</td>", number ? " class=\"n\"" : "", markup_escaped(cell_words(cell)));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace mlsysim::detail
