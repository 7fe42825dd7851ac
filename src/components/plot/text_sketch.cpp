#include "detail/text_sketch.hpp"

#include "detail/scale.hpp"

#include <mlsysim/report/detail/text_layout.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace mlsysim::detail {
namespace {

struct Drawn {
  double x = 0, x_end = 0, y = 0, y_end = 0;
  std::string name, other, words;  // of a box: name; of a line: from, to
};

/// The rows of boxes or of lines; `y` is the lower side of a box.
std::vector<Drawn> drawn(const Picture& picture, MarkShape shape) {
  std::vector<Drawn> out;
  for (const auto& mark : picture.marks) {
    if (mark.shape != shape) continue;
    const MarkColumns at(mark);
    if (at.x == kNoColumn || at.y == kNoColumn || at.x_end == kNoColumn || at.y_end == kNoColumn) continue;
    for (const auto& row : mark.data.rows) {
      const auto number = [&](std::size_t c) { return number_in(row[c], "").value_or(0); };
      out.push_back({number(at.x), number(at.x_end), number(at.y), number(at.y_end), words_of(row[0]),
                     words_of(row[1]), at.label == kNoColumn ? std::string() : words_of(row[at.label])});
    }
  }
  return out;
}

/// Lines that meet are joined: each place holds the sides to which it leads.
class Canvas {
 public:
  enum Side : unsigned { up = 1, down = 2, left = 4, right = 8 };
  Canvas(std::size_t rows, std::size_t columns)
      : sides_(rows, std::vector<unsigned>(columns)), signs_(rows, std::vector<std::string>(columns)) {}

  void across(std::size_t row, std::size_t a, std::size_t b) {
    for (std::size_t c = std::min(a, b); c < std::max(a, b); ++c)
      sides_[row][c] |= right, sides_[row][c + 1] |= left;
  }
  void along(std::size_t column, std::size_t a, std::size_t b) {
    for (std::size_t r = std::min(a, b); r < std::max(a, b); ++r)
      sides_[r][column] |= down, sides_[r + 1][column] |= up;
  }
  /// Takes away what runs behind a box.
  void hollow(std::size_t above, std::size_t under, std::size_t a, std::size_t b) {
    for (auto c = a + 1; c < b; ++c) {
      sides_[above][c] &= ~static_cast<unsigned>(down);
      sides_[under][c] &= ~static_cast<unsigned>(up);
      for (auto r = above + 1; r < under; ++r) sides_[r][c] = 0, signs_[r][c].clear();
    }
    for (auto r = above + 1; r < under; ++r) {
      sides_[r][a] &= ~static_cast<unsigned>(right);
      sides_[r][b] &= ~static_cast<unsigned>(left);
    }
  }
  /// Words in the middle between two columns. @return whether they have room
  bool write(std::size_t row, std::size_t a, std::size_t b, const std::string& words) {
    const auto width = shown_width(words);
    if (b < a + width) return false;
    auto at = a + (b - a - width) / 2;
    for (std::size_t i = 0; i < words.size(); ++at) {
      std::size_t bytes = 1;
      while (i + bytes < words.size() && (static_cast<unsigned char>(words[i + bytes]) & 0xc0U) == 0x80U)
        ++bytes;
      signs_[row][at] = words.substr(i, bytes);
      i += bytes;
    }
    return true;
  }
  [[nodiscard]] std::string text() const {
    static constexpr std::array<std::string_view, 16> joints{" ", "│", "│", "│", "─", "┘", "┐", "┤",
                                                             "─", "└", "┌", "├", "─", "┴", "┬", "┼"};
    std::string out;
    for (std::size_t r = 0; r < sides_.size(); ++r) {
      std::string line;
      for (std::size_t c = 0; c < sides_[r].size(); ++c)
        line += signs_[r][c].empty() ? std::string(joints[sides_[r][c]]) : signs_[r][c];
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    out.erase(out.find_last_not_of('\n') + 1);
    return out + "\n";
  }

 private:
  std::vector<std::vector<unsigned>> sides_;
  std::vector<std::vector<std::string>> signs_;
};

/// Places of the sketch as rows and columns. A box is three rows high, and boxes of a column do not touch.
class Grid {
 public:
  Grid(const std::vector<Drawn>& boxes, std::size_t width) : boxes_(boxes), columns_(width) {
    constexpr double kRowsPerPlace = 3.4, kRowsApart = 3.2;
    double x_high = -first_, y_low = first_, apart = first_;
    for (const auto& b : boxes) {
      first_ = std::min(first_, b.x);
      x_high = std::max(x_high, b.x_end);
      y_low = std::min(y_low, b.y);
      top_ = std::max(top_, b.y_end);
      for (const auto& other : boxes)
        if (b.x < other.x_end && other.x < b.x_end && middle(other) < middle(b))
          apart = std::min(apart, middle(b) - middle(other));
    }
    per_x_ = static_cast<double>(width - 1) / std::max(x_high - first_, 1e-9);
    per_y_ = std::max(kRowsPerPlace, kRowsApart / std::max(apart, 0.05));
    rows_ = static_cast<std::size_t>(std::lround((top_ - y_low) * per_y_)) + 3;
  }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::size_t column(double x) const {
    return std::min(columns_ - 1, static_cast<std::size_t>(std::lround(std::max(0.0, x - first_) * per_x_)));
  }
  [[nodiscard]] std::size_t middle_row(const Drawn& box) const {
    return std::max<std::size_t>(1, row(middle(box)));
  }
  /// Row of an end of a line, which is the upper or lower side of a box where it touches one.
  [[nodiscard]] std::size_t row_of_end(double x, double y) const {
    for (const auto& b : boxes_) {
      if (x < b.x || x > b.x_end) continue;
      if (std::abs(y - b.y_end) < 1e-6) return middle_row(b) - 1;
      if (std::abs(y - b.y) < 1e-6) return middle_row(b) + 1;
    }
    return row(y);
  }

 private:
  static double middle(const Drawn& box) { return (box.y + box.y_end) / 2; }
  [[nodiscard]] std::size_t row(double y) const {
    return std::min(rows_ - 2, static_cast<std::size_t>(std::lround(std::max(0.0, top_ - y) * per_y_)));
  }

  const std::vector<Drawn>& boxes_;
  double first_ = std::numeric_limits<double>::infinity(), top_ = -first_, per_x_ = 1, per_y_ = 1;
  std::size_t columns_, rows_ = 0;
};

/// A line as steps across, down or up just before its end, and across. @return whether its words have room on
/// it
bool draw_line(Canvas& canvas, const Grid& grid, const Drawn& line) {
  const auto a = grid.column(line.x), b = grid.column(line.x_end);
  const auto r = grid.row_of_end(line.x, line.y), s = grid.row_of_end(line.x_end, line.y_end);
  const auto turn = b > a + 2 ? b - 2 : b;
  canvas.across(r, a, turn);
  canvas.along(turn, r, s);
  canvas.across(s, turn, b);
  return line.words.empty() || (turn > a + 2 && canvas.write(r, a + 1, turn - 1, line.words));
}

std::string box_line(const Drawn& box) {
  return fmt::format("[{}]{}\n", box.name, box.words == box.name ? "" : "  " + box.words);
}
std::string line_line(const Drawn& line) {
  return fmt::format("{} -> {}{}\n", line.name, line.other, line.words.empty() ? "" : ": " + line.words);
}

/// As many characters as there is room for, the last of which says that there are more.
std::string cut(const std::string& words, std::size_t width) {
  std::string out;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < words.size() && shown + 1 < width; ++shown) do
      out += words[i++];
    while (i < words.size() && (static_cast<unsigned char>(words[i]) & 0xc0U) == 0x80U);
  return width == 0 ? "" : out + "…";
}

std::string sketch(const Grid& grid, const std::vector<Drawn>& boxes, const std::vector<Drawn>& lines) {
  Canvas canvas(grid.rows(), grid.columns());
  std::string below;
  for (const auto& line : lines)
    if (!draw_line(canvas, grid, line)) below += line_line(line);
  for (const auto& box : boxes) {
    const auto a = grid.column(box.x), b = grid.column(box.x_end);
    const auto middle = grid.middle_row(box), above = middle - 1, under = middle + 1;
    canvas.hollow(above, under, a, b);
    canvas.across(above, a, b);
    canvas.across(under, a, b);
    canvas.along(a, above, under);
    canvas.along(b, above, under);
    if (canvas.write(middle, a + 1, b, box.words)) continue;
    canvas.write(middle, a + 1, b, cut(box.words, b > a ? b - a - 1 : 0));
    below += box_line(box);
  }
  return canvas.text() + (below.empty() ? "" : "\n" + below);
}

}  // namespace

std::string sketch_text(const Picture& picture, std::size_t width) {
  const auto boxes = drawn(picture, MarkShape::bar), lines = drawn(picture, MarkShape::rule);
  if (boxes.empty()) return {};
  constexpr std::size_t kMostRows = 120;
  const Grid grid(boxes, std::max<std::size_t>(width, 40));
  if (grid.rows() <= kMostRows) return sketch(grid, boxes, lines);
  std::string out;
  for (const auto& box : boxes) out += box_line(box);
  for (const auto& line : lines) out += line_line(line);
  return out;
}

}  // namespace mlsysim::detail
