#include <mlsysim/report/table.hpp>

#include <mlsysim/report/detail/text_layout.hpp>
#include "detail/json_value.hpp"

#include <mlsysim/units/format.hpp>

#include <algorithm>

namespace mlsysim {
namespace {

using detail::Json;

/// For readers: each quantity in the unit that suits its size.
std::string shown(const Table::Cell& cell, int digits) {
  if (const auto* x = std::get_if<double>(&cell.value))
    return pretty(AnyQuantity::from_base(*x, cell.exps), digits);
  if (const auto* b = std::get_if<bool>(&cell.value)) return *b ? "yes" : "no";
  if (const auto* s = std::get_if<std::string>(&cell.value)) return *s;
  if (const auto* o = std::get_if<ObjectRef>(&cell.value)) return "a " + std::string(o->type);
  if (const auto* h = std::get_if<HostRef>(&cell.value); h != nullptr && *h) return (*h)->text();
  return {};
}

std::string exact(const Table::Cell& cell, const std::string& unit) {
  const auto* x = std::get_if<double>(&cell.value);
  if (x == nullptr) return shown(cell, 17);
  if (!std::isfinite(*x)) return {};
  return format_exact(unit.empty() ? *x : AnyQuantity::from_base(*x, cell.exps).in(unit));
}

std::string heading(const Table::Column& column) {
  return column.unit.empty() ? column.name : column.name + " [" + column.unit + "]";
}

std::string text_of(const Table& t, const RenderOptions& o) {
  std::vector<std::size_t> widths;
  std::vector<char> numeric;
  std::vector<std::vector<std::string>> cells;
  for (const auto& row : t.rows) {
    auto& line = cells.emplace_back();
    for (const auto& cell : row) line.push_back(shown(cell, o.digits));
  }
  for (std::size_t c = 0; c < t.columns.size(); ++c) {
    std::size_t width = detail::shown_width(t.columns[c].name);
    bool numbers = !t.rows.empty();
    for (std::size_t r = 0; r < t.rows.size(); ++r) {
      width = std::max(width, detail::shown_width(cells[r][c]));
      numbers = numbers && !std::holds_alternative<std::string>(t.rows[r][c].value);
    }
    widths.push_back(width);
    numeric.push_back(numbers);
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& parts, detail::Paint paint) {
    std::string text;
    for (std::size_t c = 0; c < parts.size(); ++c) {
      if (c > 0) text += "  ";
      if (numeric[c] != 0)
        text += detail::padded_left(parts[c], widths[c]);
      else
        text += c + 1 == parts.size() ? parts[c] : detail::padded(parts[c], widths[c]);
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += detail::painted(text, paint, o.colour) + "\n";
  };
  std::vector<std::string> names;
  for (const auto& column : t.columns) names.push_back(column.name);
  line(names, detail::Paint::bold);
  for (const auto& row : cells) line(row, detail::Paint::plain);
  if (!t.footer.empty()) out += "\n" + detail::painted(t.footer, detail::Paint::dim, o.colour) + "\n";
  return out;
}

std::string markdown_of(const Table& t, const RenderOptions& o) {
  std::string out = t.title.empty() ? "" : "## " + t.title + "\n\n";
  out += "|";
  for (const auto& column : t.columns) out += " " + detail::markdown_cell(column.name) + " |";
  out += "\n|";
  for (std::size_t c = 0; c < t.columns.size(); ++c) out += " --- |";
  out += "\n";
  for (const auto& row : t.rows) {
    out += "|";
    for (const auto& cell : row) out += " " + detail::markdown_cell(shown(cell, o.digits)) + " |";
    out += "\n";
  }
  return t.footer.empty() ? out : out + "\n" + t.footer + "\n";
}

std::string csv_of(const Table& t) {
  std::string out;
  for (std::size_t c = 0; c < t.columns.size(); ++c)
    out += (c > 0 ? "," : "") + detail::csv_field(heading(t.columns[c]));
  out += "\n";
  for (const auto& row : t.rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      out += (c > 0 ? "," : "") + detail::csv_field(exact(row[c], t.columns[c].unit));
    out += "\n";
  }
  return out;
}

std::string json_of(const Table& t) {
  Json out{{"schema", t.schema}, {"title", t.title}, {"columns", Json::array()}, {"rows", Json::array()}};
  for (const auto& column : t.columns)
    out["columns"].push_back({{"name", column.name}, {"unit", column.unit}, {"meaning", column.meaning}});
  for (const auto& row : t.rows) {
    Json line = Json::object();
    for (std::size_t c = 0; c < row.size(); ++c)
      line[t.columns[c].name] = detail::json_value(row[c].value, row[c].exps, t.columns[c].unit);
    out["rows"].push_back(std::move(line));
  }
  return detail::dumped(out);
}

}  // namespace

std::string render(const Table& table, const RenderOptions& options) {
  switch (options.format) {
    case OutputFormat::text:
      break;
    case OutputFormat::json:
      return json_of(table);
    case OutputFormat::markdown:
      return markdown_of(table, options);
    case OutputFormat::csv:
      return csv_of(table);
  }
  return text_of(table, options);
}

}  // namespace mlsysim
