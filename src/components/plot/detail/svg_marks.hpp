#pragma once
// The marks of a picture as SVG.

#include "frame.hpp"

#include <string>
#include <vector>

namespace mlsysim::detail {

/// How a series looks: index into colors, hatches, dashes and shapes.
[[nodiscard]] std::string fill_of(std::size_t series);
[[nodiscard]] std::string_view colour_of(std::size_t series);
[[nodiscard]] std::string_view dash_of(std::size_t series);
/// A shape of a series about a point.
[[nodiscard]] std::string shape_at(std::size_t series, double x, double y, double radius);
/// The hatches as <pattern> elements.
[[nodiscard]] std::string patterns(std::size_t series);

/// One text. `anchor` is start, middle or end.
struct SvgText {
  std::string words;
  double x = 0, y = 0, size = 12;
  std::string_view anchor = "start", colour = "#111111", extra;
};
[[nodiscard]] std::string svg_text(const SvgText& text);

/// All marks; labels where there is room for them.
[[nodiscard]] std::string svg_marks(const PictureFrame& frame);

}  // namespace mlsysim::detail
