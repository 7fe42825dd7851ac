// A picture in characters: bars by line, boxes and their lines as a sketch, everything else on a grid.

#include "detail/scale.hpp"
#include "detail/text_sketch.hpp"

#include <mlsysim/plot/render.hpp>
#include <mlsysim/report/detail/text_layout.hpp>

#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace mlsysim {
namespace {

using detail::kNoColumn;
using detail::MarkColumns;
using detail::PlacedAxis;

/// Characters that fill bars, stand for points and draw lines, by series.
constexpr std::array<std::string_view, 8> kFills{"█", "▒", "▓", "░", "#", "=", "+", "-"};
constexpr std::array<std::string_view, 8> kPoints{"●", "■", "▲", "◆", "▼", "+", "○", "×"};
constexpr std::array<std::string_view, 8> kLines{"·", "-", "=", "~", ":", "*", "o", "x"};
constexpr std::string_view kOneLine = kLines.front();  // where points or nothing else tell a series apart

using Line = std::vector<std::string>;  // one character each
std::string joined(const Line& line) {
  std::string out;
  for (const auto& c : line) out += c;
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

void write_over(Line& line, std::size_t at, std::string_view words) {
  for (std::size_t i = 0; i < words.size() && at < line.size(); ++at) {
    std::size_t bytes = 1;
    while (i + bytes < words.size() && (static_cast<unsigned char>(words[i + bytes]) & 0xc0) == 0x80) ++bytes;
    line[at] = std::string(words.substr(i, bytes));
    i += bytes;
  }
}

/// Signs and names, on as many lines as they need.
std::string legend_of(const std::vector<std::string>& series, std::span<const std::string_view> signs,
                      std::size_t width) {
  std::string out, line;
  for (std::size_t s = 0; s < series.size(); ++s) {
    const auto entry = fmt::format("{} {}", signs[s % signs.size()], series[s]);
    if (!line.empty() && detail::shown_width(line) + 3 + detail::shown_width(entry) > width)
      out += std::exchange(line, {}) + "\n";
    line += (line.empty() ? "  " : "   ") + entry;
  }
  return line.empty() ? out : out + line + "\n";
}

/// Ends of an axis, for the line below a chart.
std::string ends_of(const PlacedAxis& axis, std::size_t width) {
  if (axis.ticks().empty() || axis.stated().scale == Scale::category) return {};
  Line line(width, " ");
  std::size_t free = 0;
  for (const auto& t : axis.ticks()) {
    const auto at = static_cast<std::size_t>(std::lround(t.place * static_cast<double>(width - 1)));
    const auto from = std::min(at, width - std::min(width, detail::shown_width(t.text)));
    if (from < free) continue;
    write_over(line, from, t.text);
    free = from + detail::shown_width(t.text) + 2;
  }
  return joined(line);
}

/// Bars at categories: a line for each category.
std::string lying_bars(const Picture& p, std::size_t width) {
  const PlacedAxis x(p, PlacedAxis::Along::x);
  const auto series = detail::series_of(p);
  std::size_t names = 0;
  for (const auto& c : p.y.categories) names = std::max(names, detail::shown_width(c));
  const std::size_t room = std::max<std::size_t>(width - std::min(width, names + 20), 24);
  std::string out = legend_of(series, kFills, width);
  for (const auto& category : p.y.categories) {
    Line line(room, " ");
    std::string words;
    std::size_t labels = 0;
    for (const auto& mark : p.marks) {
      const MarkColumns at(mark);
      if (at.y == kNoColumn || at.x == kNoColumn) continue;
      for (const auto& row : mark.data.rows) {
        if (words_of(row[at.y]) != category) continue;
        const auto a = x.place(row[at.x]);
        const auto b = at.x_end == kNoColumn ? a : x.place(row[at.x_end]);
        if (!a || !b) continue;
        const auto cell = [&](double place) {
          return static_cast<std::size_t>(
              std::clamp(place * static_cast<double>(room), 0.0, static_cast<double>(room)));
        };
        const auto s = detail::series_at(mark, row, series);
        const auto from = cell(std::min(*a, *b)), to = std::max(cell(std::max(*a, *b)), from + 1);
        for (std::size_t i = from; i < std::min(to, room); ++i)
          line[i] = mark.shape == MarkShape::bar ? kFills[s % 8] : "│";
        if (at.label == kNoColumn || words_of(row[at.label]).empty()) continue;
        words += (labels++ == 0 ? "" : ", ") + words_of(row[at.label]);
      }
    }
    out += fmt::format("{}  {}  {}\n", detail::padded(category, names), detail::padded(joined(line), room),
                       labels > 2 ? "" : words);  // many bars on a line, as of a schedule
    while (out.size() > 1 && out[out.size() - 2] == ' ') out.erase(out.size() - 2, 1);
  }
  out += fmt::format("{}  {}\n", detail::padded("", names), ends_of(x, room));
  if (!x.heading().empty()) out += fmt::format("{}  {}\n", detail::padded("", names), x.heading());
  return out;
}

/// Points, lines and standing bars on a grid.
class CharacterGrid {
 public:
  CharacterGrid(const Picture& p, std::size_t width)
      : p_(p),
        x_(p, PlacedAxis::Along::x),
        y_(p, PlacedAxis::Along::y),
        series_(detail::series_of(p)),
        width_(width),
        columns_(std::max<std::size_t>(width - std::min<std::size_t>(width, 14), 30)),
        lines_(kRows, Line(columns_, " ")) {
    choose_signs();
  }

  std::string text() {
    for (const auto& mark : p_.marks) draw(mark);
    for (const auto& [row, column, words] : labels_) label(row, column, words);
    std::string out = legend_of(series_, signs_, width_);
    if (!y_.heading().empty()) out += "  " + y_.heading() + "\n";
    std::map<std::size_t, std::string> ticks;
    for (const auto& t : y_.ticks()) ticks[row_of(t.place)] = t.text;
    for (std::size_t r = 0; r < kRows; ++r)
      out += fmt::format("{} ┤{}\n", detail::padded_left(ticks.contains(r) ? ticks[r] : "", 10),
                         joined(lines_[r]));
    out += fmt::format("{}{}\n", std::string(12, ' '), ends_of(x_, columns_));
    return out + fmt::format("{}{}\n", std::string(12, ' '), x_.heading());
  }

 private:
  static constexpr std::size_t kRows = 18;
  [[nodiscard]] std::size_t row_of(double place) const {
    return kRows - 1 - static_cast<std::size_t>(std::lround(std::clamp(place, 0.0, 1.0) * (kRows - 1)));
  }
  [[nodiscard]] std::size_t column_of_place(double place) const {
    return static_cast<std::size_t>(
        std::lround(std::clamp(place, 0.0, 1.0) * static_cast<double>(columns_ - 1)));
  }

  /// A series with points has a sign of points; of those that are lines alone each has its own.
  void choose_signs() {
    std::vector<bool> points(series_.size());
    for (const auto& mark : p_.marks)
      for (const auto& row : mark.data.rows)
        if (!mark.series.empty() && mark.shape != MarkShape::line && mark.shape != MarkShape::rule)
          points[detail::series_at(mark, row, series_)] = true;
    std::size_t lines = 0, dots = 0;
    for (const bool point : points)
      signs_.push_back(point ? kPoints[dots++ % kPoints.size()] : kLines[lines++ % kLines.size()]);
    lines_only_.resize(points.size());
    for (std::size_t s = 0; s < points.size(); ++s) lines_only_[s] = !points[s];
  }

  void segment(std::pair<double, double> a, std::pair<double, double> b, std::string_view sign) {
    const int steps = static_cast<int>(2 * columns_);
    for (int i = 0; i <= steps; ++i) {
      const double t = i / static_cast<double>(steps);
      const double x = a.first + t * (b.first - a.first), y = a.second + t * (b.second - a.second);
      if (x < 0 || x > 1 || y < 0 || y > 1) continue;
      auto& at = lines_[row_of(y)][column_of_place(x)];
      if (std::find(kPoints.begin(), kPoints.end(), at) == kPoints.end()) at = sign;
    }
  }

  /// Words to the right of a place, else to its left, where nothing is drawn.
  void label(std::size_t row, std::size_t column, const std::string& words) {
    const auto width = detail::shown_width(words);
    auto& line = lines_[row];
    const auto fits = [&](std::size_t from) {
      return from + width <= columns_ && std::all_of(line.begin() + static_cast<std::ptrdiff_t>(from),
                                                     line.begin() + static_cast<std::ptrdiff_t>(from + width),
                                                     [](const auto& c) { return c == " " || c == kOneLine; });
    };
    if (fits(column + 2))
      write_over(line, column + 2, words);
    else if (column >= width + 2 && fits(column - width - 2))
      write_over(line, column - width - 2, words);
  }

  void draw(const PictureMark& mark) {
    const MarkColumns at(mark);
    std::map<std::size_t, std::pair<double, double>> last;
    for (const auto& row : mark.data.rows) {
      const auto s = detail::series_at(mark, row, series_);
      const auto stroke = !mark.series.empty() && lines_only_[s] ? signs_[s] : kOneLine;
      const auto place = [&](const PlacedAxis& axis, std::size_t c) {
        return c == kNoColumn ? std::optional<double>() : axis.place(row[c]);
      };
      const auto x = place(x_, at.x), y = place(y_, at.y), u = place(x_, at.x_end), v = place(y_, at.y_end);
      if (mark.shape == MarkShape::line && x && y) {
        if (last.contains(s)) segment(last[s], {*x, *y}, stroke);
        last[s] = {*x, *y};
      } else if (mark.shape == MarkShape::rule) {
        segment({x.value_or(0), y.value_or(0)}, {u ? *u : x ? *x : 1, v ? *v : y ? *y : 1}, stroke);
      } else if (mark.shape == MarkShape::bar && x && y && u) {
        for (std::size_t c = column_of_place(*x); c <= column_of_place(*u); ++c)
          for (std::size_t r = row_of(*y); r < kRows; ++r) lines_[r][c] = "█";
      } else if (x && y) {
        if (mark.shape == MarkShape::point)
          lines_[row_of(*y)][column_of_place(*x)] = mark.series.empty() ? kPoints.front() : signs_[s];
        if (at.label != kNoColumn && !words_of(row[at.label]).empty())
          labels_.push_back({row_of(*y), column_of_place(*x), words_of(row[at.label])});
      }
    }
  }

  struct Label {
    std::size_t row, column;
    std::string words;
  };
  const Picture& p_;
  PlacedAxis x_, y_;
  std::vector<std::string> series_;
  std::vector<std::string_view> signs_;  // of each series
  std::vector<bool> lines_only_;
  std::size_t width_, columns_;
  std::vector<Line> lines_;
  std::vector<Label> labels_;
};

/// A heat map: a shade a cell, and the ends of the shades.
std::string shades(const Picture& p) {
  static constexpr std::array<std::string_view, 5> tones{"  ", "░░", "▒▒", "▓▓", "██"};
  const auto& mark = p.marks.front();
  const MarkColumns at(mark);
  double most = 0;
  for (const auto& row : mark.data.rows)
    most = std::max(most, std::abs(number_in(row[at.amount], "").value_or(0)));
  std::size_t names = 0;
  for (const auto& c : p.y.categories) names = std::max(names, detail::shown_width(c));
  std::string out;
  for (const auto& y : p.y.categories) {
    out += detail::padded(y, names) + "  ";
    for (const auto& x : p.x.categories) {
      std::string_view tone = "··";
      for (const auto& row : mark.data.rows)
        if (words_of(row[at.x]) == x && words_of(row[at.y]) == y)
          if (const auto amount = number_in(row[at.amount], ""))
            tone = tones[static_cast<std::size_t>(most > 0 ? std::lround(4 * std::abs(*amount) / most) : 0)];
      out += tone;
    }
    out += "\n";
  }
  const auto& name = mark.data.columns[at.amount].name;
  const auto exps = mark.data.rows.empty() ? Exponents{} : mark.data.rows.front()[at.amount].exps;
  return out +
         fmt::format("{}: {} to {}; columns from left to right; blank is least, █ is {} {}, · has none\n",
                     p.x.title, p.x.categories.front(), p.x.categories.back(),
                     pretty(AnyQuantity::from_base(most, exps)), name);
}

}  // namespace

std::string to_text(const Picture& picture, std::size_t width) {
  check(picture);
  std::string out = picture.title + "\n\n";
  bool lying = false, cells = false;
  for (const auto& mark : picture.marks) {
    lying = lying || detail::lies(picture, mark);
    cells = cells || mark.shape == MarkShape::cell;
  }
  if (picture.x.scale == Scale::place || picture.y.scale == Scale::place)
    out += detail::sketch_text(picture, width);
  else if (cells)
    out += shades(picture);
  else if (lying)
    out += lying_bars(picture, width);
  else
    out += CharacterGrid(picture, width).text();
  out += "\n";
  for (const auto& note : picture.notes) out += note + "\n";
  if (!picture.sources.empty()) out += fmt::format("Sources: {}\n", fmt::join(picture.sources, "; "));
  return out;
}

}  // namespace mlsysim
