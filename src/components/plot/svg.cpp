// A picture as SVG: title and desc for who cannot see it, hatches and dashes for who sees no colors.

#include "detail/svg_marks.hpp"

#include <mlsysim/plot/render.hpp>
#include <mlsysim/units/detail/markup.hpp>

#include <fmt/format.h>

#include <array>

namespace mlsysim {

const std::array<std::string_view, 8>& series_colours() {
  static constexpr std::array<std::string_view, 8> colours{"#005a9c", "#b84a00", "#00755a", "#93338a",
                                                           "#7a5c00", "#333333", "#5b6fc7", "#c2185b"};
  return colours;
}

namespace detail {

std::string_view colour_of(std::size_t series) { return series_colours()[series % series_colours().size()]; }

std::string fill_of(std::size_t series) { return fmt::format("url(#h{})", series % 8); }

std::string_view dash_of(std::size_t series) {
  static constexpr std::array<std::string_view, 8> dashes{"",
                                                          R"( stroke-dasharray="7 4")",
                                                          R"( stroke-dasharray="2 3")",
                                                          R"( stroke-dasharray="9 3 2 3")",
                                                          R"( stroke-dasharray="12 4")",
                                                          R"( stroke-dasharray="4 2")",
                                                          R"( stroke-dasharray="1 4")",
                                                          R"( stroke-dasharray="9 3 2 3 2 3")"};
  return dashes[series % 8];
}

std::string shape_at(std::size_t series, double x, double y, double r) {
  const auto colour = colour_of(series);
  const auto path = [&](std::string d) {
    return fmt::format(R"(<path d="{}" fill="{}" stroke="#ffffff" stroke-width="0.8"/>)"
                       "\n",
                       d, colour);
  };
  switch (series % 8) {
    case 0:
      return fmt::format(
          R"(<circle cx="{:.2f}" cy="{:.2f}" r="{:g}" fill="{}" stroke="#ffffff" stroke-width="0.8"/>)"
          "\n",
          x, y, r, colour);
    case 1:
      return path(fmt::format("M{:.2f} {:.2f}h{:g}v{:g}h{:g}z", x - r, y - r, 2 * r, 2 * r, -2 * r));
    case 2:
      return path(fmt::format("M{:.2f} {:.2f}l{:g} {:g}h{:g}z", x, y - r * 1.2, r * 1.2, r * 2.2, -r * 2.4));
    case 3:
      return path(fmt::format("M{:.2f} {:.2f}l{:g} {:g}l{:g} {:g}l{:g} {:g}z", x, y - r * 1.4, r * 1.3,
                              r * 1.4, -r * 1.3, r * 1.4, -r * 1.3, -r * 1.4));
    case 4:
      return path(fmt::format("M{:.2f} {:.2f}l{:g} {:g}h{:g}z", x, y + r * 1.2, r * 1.2, -r * 2.2, -r * 2.4));
    case 5:
      return fmt::format(
          R"(<path d="M{0:.2f} {1:.2f}h{2:g}M{3:.2f} {4:.2f}v{2:g}" stroke="{5}" stroke-width="2.6"/>)"
          "\n",
          x - r, y, 2 * r, x, y - r, colour);
    case 6:
      return fmt::format(
          R"(<circle cx="{:.2f}" cy="{:.2f}" r="{:g}" fill="#ffffff" stroke="{}" stroke-width="2"/>)"
          "\n",
          x, y, r * 0.8, colour);
    default:
      return fmt::format(
          R"(<path d="M{0:.2f} {1:.2f}l{2:g} {2:g}M{0:.2f} {3:.2f}l{2:g} {4:g}" stroke="{5}" stroke-width="2.2"/>)"
          "\n",
          x - r * 0.8, y - r * 0.8, r * 1.6, y + r * 0.8, -r * 1.6, colour);
  }
}

std::string patterns(std::size_t series) {
  static constexpr std::array<std::string_view, 8> hatches{
      "",
      "M-2 2l4 -4M0 8l8 -8M6 10l4 -4",
      "M-2 6l4 4M0 0l8 8M6 -2l4 4",
      "M0 4h8",
      "M4 0v8",
      "M0 4h8M4 0v8",
      "M-2 2l4 -4M0 8l8 -8M6 10l4 -4M-2 6l4 4M0 0l8 8M6 -2l4 4",
      "M2 2h1.5M6 6h1.5"};
  std::string out = "<defs>\n";
  for (std::size_t s = 0; s < std::min<std::size_t>(std::max<std::size_t>(series, 1), 8); ++s)
    out += fmt::format(
        R"(<pattern id="h{0}" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" fill="{1}" fill-opacity="{2}"/><path d="{3}" stroke="{1}" stroke-width="1.6"/></pattern>)"
        "\n",
        s, colour_of(s), s == 0 ? 0.62 : 0.16, hatches[s]);
  return out + "</defs>\n";
}

namespace {

std::string axis_lines(const PictureFrame& f) {
  std::string out;
  const auto& a = f.area();
  const bool categories = f.y().stated().scale == Scale::category;
  if (f.x().stated().scale != Scale::place) {
    for (const auto& t : f.x().ticks()) {
      const double x = f.px(t.place);
      if (f.x().stated().scale != Scale::category)
        out += fmt::format(
            R"(<line x1="{0:.2f}" y1="{1:.2f}" x2="{0:.2f}" y2="{2:.2f}" stroke="#d5d5d5" stroke-width="0.8"/>)"
            "\n",
            x, a.y, a.y + a.height);
      out += svg_text({t.text, x, a.y + a.height + 17, 12, "middle", kTextColours[1]});
    }
    out += svg_text({f.x().heading(), a.x + a.width / 2, a.y + a.height + 36, 12.5, "middle"});
  }
  if (f.y().stated().scale != Scale::place) {
    for (const auto& t : f.y().ticks()) {
      const double y = f.py(t.place);
      if (!categories)
        out += fmt::format(
            R"(<line x1="{0:.2f}" y1="{1:.2f}" x2="{2:.2f}" y2="{1:.2f}" stroke="#d5d5d5" stroke-width="0.8"/>)"
            "\n",
            a.x, y, a.x + a.width);
      out += svg_text({t.text, a.x - 8, y + 4, 12, "end", categories ? kTextColours[0] : kTextColours[1]});
    }
    if (!categories) {
      const double x = 16, y = a.y + a.height / 2;
      out += svg_text({f.y().heading(), x, y, 12.5, "middle", kTextColours[0],
                       fmt::format(R"x( transform="rotate(-90 {:.2f} {:.2f})")x", x, y)});
    }
    out += fmt::format(
        R"(<path d="M{0:.2f} {1:.2f}V{2:.2f}H{3:.2f}" fill="none" stroke="#555555" stroke-width="1"/>)"
        "\n",
        a.x, a.y, a.y + a.height, a.x + a.width);
  }
  return out;
}

/// The shape in which a series is drawn first.
MarkShape shape_of(const PictureFrame& f, const std::string& series) {
  for (const auto& mark : f.picture().marks) {
    if (mark.series.empty()) continue;
    const auto c = column_of(mark.data, mark.series);
    for (const auto& row : mark.data.rows)
      if (words_of(row[c]) == series) return mark.shape;
  }
  return MarkShape::line;
}

std::string legend_of(const PictureFrame& f) {
  std::string out;
  const auto places = f.legend();
  for (std::size_t s = 0; s < places.size(); ++s) {
    const double x = places[s].x, y = f.legend_top() + 20 * static_cast<double>(places[s].line);
    const auto shape = shape_of(f, f.series()[s]);
    if (shape == MarkShape::bar)
      out += fmt::format(R"(<rect x="{:.2f}" y="{:.2f}" width="18" height="11" fill="{}" stroke="{}"/>)"
                         "\n",
                         x, y, fill_of(s), colour_of(s));
    else if (shape == MarkShape::point)
      out += shape_at(s, x + 9, y + 6, 4.6);
    else
      out += fmt::format(
          R"(<line x1="{:.2f}" y1="{:.2f}" x2="{:.2f}" y2="{:.2f}" stroke="{}" stroke-width="2"{}/>)"
          "\n",
          x, y + 6, x + 20, y + 6, colour_of(s), dash_of(s));
    out += svg_text({f.series()[s], x + 26, y + 10, 12});
  }
  return out;
}

}  // namespace
}  // namespace detail

std::string to_svg(const Picture& picture) {
  check(picture);
  const detail::PictureFrame f(picture);
  std::string out = fmt::format(
      R"(<!-- drawn by mlsysim -->
<svg xmlns="http://www.w3.org/2000/svg" width="{4:g}" height="{5:g}" viewBox="0 0 {0:g} {1:g}" role="img" font-family="DejaVu Sans, Verdana, sans-serif">
<title>{2}</title>
<desc>{3}</desc>
<rect width="100%" height="100%" fill="#ffffff"/>
)",
      f.width(), f.height(), detail::markup_escaped(picture.title),
      detail::markup_escaped(picture.description), f.width() * f.scale(), f.height() * f.scale());
  out += detail::patterns(std::max<std::size_t>(f.series().size(), 7));
  double y = 28;
  for (const auto& line : f.title()) {
    out += detail::svg_text({line, 16, y, 17, "start", kTextColours[0], R"( font-weight="bold")"});
    y += 22;
  }
  out += detail::legend_of(f) + detail::axis_lines(f) + detail::svg_marks(f);
  y = f.height() - 15 * static_cast<double>(f.foot().size()) + 2;
  for (const auto& line : f.foot()) {
    out += detail::svg_text({line, 16, y, 11, "start", kTextColours[1]});
    y += 15;
  }
  return out + "</svg>\n";
}

}  // namespace mlsysim
