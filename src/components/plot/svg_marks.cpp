#include "detail/svg_marks.hpp"

#include <mlsysim/plot/render.hpp>
#include <mlsysim/units/detail/markup.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mlsysim::detail {
namespace {

constexpr double kLabel = 11;

/// Draws mark after mark and remembers what is taken.
class Drawing {
 public:
  explicit Drawing(const PictureFrame& frame) : f_(frame) {}

  std::string all() {
    for (const auto& mark : f_.picture().marks) draw(mark);
    for (const auto& b : bars_) take(b.box);
    for (const auto& b : bars_) label_bar(b);
    for (const auto& l : late_) place_label(l);
    return std::move(shapes_) + labels_;
  }

 private:
  struct Bar {
    std::string words;
    Box2 box;
    bool boxed, leftwards;
  };
  struct Late {
    std::string words;
    double x, y, gap;
  };

  void draw(const PictureMark& mark) {
    const MarkColumns at(mark);
    if (mark.shape == MarkShape::line) return line(mark, at);
    const double most = most_amount(mark, at);
    for (const auto& row : mark.data.rows) {
      const auto s = series_at(mark, row, f_.series());
      switch (mark.shape) {
        case MarkShape::bar:
          bar(mark, at, row, s);
          break;
        case MarkShape::point:
          point(at, row, s);
          break;
        case MarkShape::rule:
          rule(mark, at, row, s);
          break;
        case MarkShape::text:
          text(at, row);
          break;
        case MarkShape::cell:
          cell(at, row, most);
          break;
        case MarkShape::line:
          break;
      }
    }
  }

  [[nodiscard]] std::optional<double> at_x(std::size_t c, std::span<const Table::Cell> row) const {
    if (c == kNoColumn) return std::nullopt;
    const auto p = f_.x().place(row[c]);
    return p ? std::optional(f_.px(*p)) : std::nullopt;
  }
  [[nodiscard]] std::optional<double> at_y(std::size_t c, std::span<const Table::Cell> row) const {
    if (c == kNoColumn) return std::nullopt;
    const auto p = f_.y().place(row[c]);
    return p ? std::optional(f_.py(*p)) : std::nullopt;
  }

  void bar(const PictureMark& mark, const MarkColumns& at, std::span<const Table::Cell> row, std::size_t s) {
    const auto a = at_x(at.x, row), b = at_x(at.x_end, row), y = at_y(at.y, row), z = at_y(at.y_end, row);
    if (!a || !b || !y) return;
    Box2 box{std::min(*a, *b), 0, std::abs(*b - *a), 0};
    if (lies(f_.picture(), mark)) {
      box.height = f_.y().band() * f_.area().height * 0.76;
      box.y = *y - box.height / 2;
    } else {
      const double foot = z ? *z : f_.py(std::clamp(f_.y().place(0), 0.0, 1.0));
      box.y = std::min(*y, foot);
      box.height = std::abs(*y - foot);
    }
    shapes_ += fmt::format(
        R"(<rect x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}" fill="{}" stroke="{}" stroke-width="{}"/>)"
        "\n",
        box.x, box.y, std::max(box.width, 0.6), box.height, fill_of(s), colour_of(s),
        box.width < 3 ? 0.4 : 1.1);
    bars_.push_back(
        {at.label == kNoColumn ? std::string() : words_of(row[at.label]), box, z.has_value(), *b < *a});
  }

  /// Inside where it fits, on a white ground; else beside the end of the bar that is farther from its start.
  void label_bar(const Bar& bar) {
    const auto& [words, box, boxed, leftwards] = bar;
    if (words.empty()) return;
    const double w = width_of(words, kLabel), middle = box.y + box.height / 2 + 4;
    if (w + 8 < box.width) {
      const double x = box.x + box.width / 2 - w / 2;
      labels_ += fmt::format(
          R"(<rect x="{:.2f}" y="{:.2f}" width="{:.2f}" height="14" rx="2" fill="#ffffff" fill-opacity="0.88"/>)"
          "\n",
          x - 3, middle - 11, w + 6);
      halo(words, box.x + box.width / 2, middle, "middle");
      return;
    }
    if (boxed) return;
    const double right = box.x + box.width + 4, left = box.x - w - 4;
    for (const double x : {leftwards ? left : right, leftwards ? right : left}) {
      const Box2 at{x, box.y, w, box.height};
      if (x < f_.area().x + 1 || x + w > f_.width() - 2 || taken(at)) continue;
      take(at);
      halo(words, x, middle, "start");
      return;
    }
  }

  void point(const MarkColumns& at, std::span<const Table::Cell> row, std::size_t s) {
    const auto x = at_x(at.x, row), y = at_y(at.y, row);
    if (!x || !y) return;
    shapes_ += shape_at(s, *x, *y, 4.6);
    take({*x - 5, *y - 5, 10, 10});
    if (at.label != kNoColumn) late_.push_back({words_of(row[at.label]), *x, *y, 8});
  }

  void line(const PictureMark& mark, const MarkColumns& at) {
    for (std::size_t s = 0; s < std::max<std::size_t>(1, f_.series().size()); ++s) {
      std::string points;
      std::optional<std::pair<double, double>> last;
      std::string label;
      for (const auto& row : mark.data.rows) {
        if (series_at(mark, row, f_.series()) != s) continue;
        const auto x = at_x(at.x, row), y = at_y(at.y, row);
        if (!x || !y) continue;
        points += fmt::format("{}{:.2f},{:.2f}", points.empty() ? "" : " ", *x, *y);
        last = {*x, *y};
        if (at.label != kNoColumn && !words_of(row[at.label]).empty()) {
          label = words_of(row[at.label]);
          late_.push_back({label, *x, *y, 6});
        }
      }
      if (!points.empty())
        shapes_ += fmt::format(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="2"{}/>)"
                               "\n",
                               points, colour_of(s), dash_of(s));
      if (mark.series.empty()) break;
    }
  }

  void rule(const PictureMark& mark, const MarkColumns& at, std::span<const Table::Cell> row, std::size_t s) {
    const auto x = at_x(at.x, row), y = at_y(at.y, row), u = at_x(at.x_end, row), v = at_y(at.y_end, row);
    const auto& a = f_.area();
    double x1 = x.value_or(a.x), y1 = y.value_or(a.y),
           x2 = u   ? *u
                : x ? *x
                    : a.x + a.width,
           y2 = v   ? *v
                : y ? *y
                    : a.y + a.height;
    if ((at.x != kNoColumn && !x) || (at.y != kNoColumn && !y)) return;
    if (at.y != kNoColumn && f_.y().stated().scale == Scale::category && at.y_end == kNoColumn &&
        at.x_end == kNoColumn) {  // a tick across the bar of one category
      const double half = f_.y().band() * a.height * 0.45;
      y1 = *y - half;
      y2 = *y + half;
    }
    shapes_ += fmt::format(
        R"(<line x1="{:.2f}" y1="{:.2f}" x2="{:.2f}" y2="{:.2f}" stroke="{}" stroke-width="1.5"{}/>)"
        "\n",
        x1, y1, x2, y2, mark.series.empty() ? kTextColours[0] : colour_of(s), dash_of(s));
    if (at.label == kNoColumn) return;
    if (f_.x().stated().scale == Scale::place)
      late_.push_back({words_of(row[at.label]), (x1 + x2) / 2, (y1 + y2) / 2, 4});
    else if (at.x_end == kNoColumn && at.y == kNoColumn)
      late_.push_back({words_of(row[at.label]), x1, a.y + 8, 4});
    else
      late_.push_back({words_of(row[at.label]), x1 + 0.35 * (x2 - x1), y1 + 0.35 * (y2 - y1), 7});
  }

  void text(const MarkColumns& at, std::span<const Table::Cell> row) {
    const auto x = at_x(at.x, row), y = at_y(at.y, row);
    if (x && y && at.label != kNoColumn) halo(words_of(row[at.label]), *x, *y + 4, "middle");
  }

  static double most_amount(const PictureMark& mark, const MarkColumns& at) {
    double most = 0;
    if (at.amount != kNoColumn)
      for (const auto& row : mark.data.rows)
        most = std::max(most, std::abs(number_in(row[at.amount], "").value_or(0)));
    return most;
  }

  void cell(const MarkColumns& at, std::span<const Table::Cell> row, double most) {
    const auto x = at_x(at.x, row), y = at_y(at.y, row);
    if (!x || !y) return;
    const double w = f_.x().band() * f_.area().width, h = f_.y().band() * f_.area().height;
    const auto amount = number_in(row[at.amount], "");
    const double share = amount && most > 0 ? std::abs(*amount) / most : 0;
    const int grey = static_cast<int>(std::lround(255 - 215 * share));
    const auto fill = amount ? fmt::format("#{0:02x}{0:02x}{0:02x}", grey) : std::string("url(#h6)");
    shapes_ += fmt::format(
        R"(<rect x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}" fill="{}" stroke="#ffffff"/>)"
        "\n",
        *x - w / 2, *y - h / 2, w, h, fill);
    if (at.label == kNoColumn) return;
    const auto words = words_of(row[at.label]);
    if (width_of(words, 10) + 4 > w) return;
    shapes_ += svg_text({words, *x, *y + 4, 10, "middle", grey < 118 ? "#ffffff" : kTextColours[0]});
  }

  void place_label(const Late& l) {
    if (l.words.empty()) return;
    const double w = width_of(l.words, kLabel), h = 13;
    const auto& a = f_.area();
    const std::array<std::pair<double, double>, 6> tries{{{l.x + l.gap, l.y - h / 2},
                                                          {l.x - l.gap - w, l.y - h / 2},
                                                          {l.x - w / 2, l.y - l.gap - h},
                                                          {l.x - w / 2, l.y + l.gap},
                                                          {l.x + l.gap, l.y - l.gap - h},
                                                          {l.x + l.gap, l.y + l.gap}}};
    for (const auto& [x, y] : tries) {
      const Box2 at{x, y, w, h};
      if (x < a.x || x + w > f_.width() - 2 || y < a.y - 2 || y + h > a.y + a.height + 2 || taken(at))
        continue;
      take(at);
      halo(l.words, x, y + 10, "start");
      return;
    }
  }

  void halo(const std::string& words, double x, double y, std::string_view anchor) {
    labels_ +=
        svg_text({words, x, y, kLabel, anchor, kTextColours[0],
                  R"( stroke="#ffffff" stroke-width="3" paint-order="stroke" stroke-linejoin="round")"});
  }

  [[nodiscard]] bool taken(const Box2& box) const {
    return std::any_of(taken_.begin(), taken_.end(), [&](const Box2& b) { return b.meets(box); });
  }
  void take(const Box2& box) { taken_.push_back(box); }

  const PictureFrame& f_;
  std::string shapes_, labels_;
  std::vector<Box2> taken_;
  std::vector<Bar> bars_;
  std::vector<Late> late_;
};

}  // namespace

std::string svg_marks(const PictureFrame& frame) { return Drawing(frame).all(); }

std::string svg_text(const SvgText& t) {
  return fmt::format(R"(<text x="{:.2f}" y="{:.2f}" font-size="{:g}" text-anchor="{}" fill="{}"{}>{}</text>)"
                     "\n",
                     t.x, t.y, t.size, t.anchor, t.colour, t.extra, detail::markup_escaped(t.words));
}

}  // namespace mlsysim::detail
