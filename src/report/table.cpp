#include <mlsysim/report/detail/fitted_table.hpp>

#include <mlsysim/report/detail/text_layout.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include "detail/json_value.hpp"

#include <mlsysim/units/detail/quoted.hpp>
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

/// Lines of at most `width` columns: a longer word is broken, at a sign of a path or a name if there is one.
std::vector<std::string> lines_within(std::string_view text, std::size_t width) {
  std::vector<std::string> out;
  for (auto& line : detail::wrapped(text, width)) {
    while (detail::shown_width(line) > width) {
      std::size_t end = 0, sign = 0;  // bytes of `width` characters, and up to the last sign among them
      for (std::size_t shown = 0; end < line.size() && shown < width; ++shown) {
        do ++end;
        while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0u) == 0x80u);
        if (std::string_view("/\\_-.,;:)]}").find(line[end - 1]) != std::string_view::npos) sign = end;
      }
      const auto cut = sign > end / 2 ? sign : end;
      out.push_back(line.substr(0, cut));
      line.erase(0, cut);
    }
    out.push_back(std::move(line));
  }
  return out;
}

constexpr std::size_t kNarrowest = 8;  // columns of a text that is broken into lines

/// Makes the widest texts narrower until a row fits; a table of too many columns stays wider than that.
void fit(std::vector<std::size_t>& widths, const std::vector<char>& numeric, std::size_t most) {
  const auto total = [&] {
    std::size_t sum = 2 * (widths.size() - 1);
    for (const auto w : widths) sum += w;
    return sum;
  };
  while (!widths.empty() && total() > most) {
    std::size_t widest = widths.size();
    for (std::size_t c = 0; c < widths.size(); ++c)
      if (numeric[c] == 0 && widths[c] > kNarrowest &&
          (widest == widths.size() || widths[c] > widths[widest]))
        widest = c;
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

/// One row, whose texts take as many lines as they need.
std::string row_text(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                     const std::vector<char>& numeric, detail::Paint paint, const RenderOptions& o,
                     std::size_t most) {
  std::vector<std::vector<std::string>> lines;
  std::size_t height = 1;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const bool breaks = most > 0 && numeric[c] == 0;
    lines.push_back(breaks ? lines_within(cells[c], widths[c]) : std::vector<std::string>{cells[c]});
    height = std::max(height, lines.back().size());
  }
  std::string out;
  for (std::size_t l = 0; l < height; ++l) {
    std::string text;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const auto part = l < lines[c].size() ? lines[c][l] : std::string();
      if (c > 0) text += "  ";
      if (numeric[c] != 0)
        text += detail::padded_left(part, widths[c]);
      else
        text += c + 1 == cells.size() ? part : detail::padded(part, widths[c]);
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += detail::painted(text, paint, o.colour) + "\n";
  }
  return out;
}

/// @param most columns; 0: as wide as it is
std::string text_of(const Table& t, const RenderOptions& o, std::size_t most = 0) {
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
  if (most > 0) fit(widths, numeric, most);
  std::vector<std::string> names;
  for (const auto& column : t.columns) names.push_back(column.name);
  std::string out = row_text(names, widths, numeric, detail::Paint::bold, o, most);
  for (const auto& row : cells) out += row_text(row, widths, numeric, detail::Paint::plain, o, most);
  if (t.footer.empty()) return out;
  out += "\n";
  const auto lines = most > 0 ? detail::wrapped(t.footer, most) : std::vector<std::string>{t.footer};
  for (const auto& line : lines) out += detail::painted(line, detail::Paint::dim, o.colour) + "\n";
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
  return detail::json_document(out);
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

std::string render_fitted(const Table& table, const RenderOptions& options, std::size_t columns) {
  return text_of(table, options, columns);
}

}  // namespace mlsysim
