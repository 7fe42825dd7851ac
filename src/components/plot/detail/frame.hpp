#pragma once
// Where the parts of an SVG stand: the page, the area that is drawn in, and words that must not meet.

#include "scale.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

struct Box2 {
  double x = 0, y = 0, width = 0, height = 0;
  [[nodiscard]] bool meets(const Box2& o) const {
    return x < o.x + o.width && o.x < x + width && y < o.y + o.height && o.y < y + height;
  }
};

/// Width of a text in a font of `size` pixels: an estimate, on the wide side, by classes of characters.
[[nodiscard]] double width_of(std::string_view text, double size);
/// Lines of a text that are no wider than `width` pixels.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text, double size, double width);

/// The page of a picture.
class PictureFrame {
 public:
  explicit PictureFrame(const Picture& picture);

  [[nodiscard]] const Picture& picture() const { return *picture_; }
  [[nodiscard]] const PlacedAxis& x() const { return x_; }
  [[nodiscard]] const PlacedAxis& y() const { return y_; }
  [[nodiscard]] const std::vector<std::string>& series() const { return series_; }
  [[nodiscard]] const Box2& area() const { return area_; }
  /// Size of what is drawn, before all of it grows by `scale`.
  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] double height() const { return height_; }
  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] double legend_top() const { return legend_top_; }
  [[nodiscard]] const std::vector<std::string>& title() const { return title_; }
  [[nodiscard]] const std::vector<std::string>& foot() const { return foot_; }

  /// Pixels of places within [0, 1]; y runs upwards, categories downwards.
  [[nodiscard]] double px(double place) const { return area_.x + place * area_.width; }
  [[nodiscard]] double py(double place) const {
    return y_.stated().scale == Scale::category ? area_.y + place * area_.height
                                                : area_.y + (1 - place) * area_.height;
  }
  /// Left ends of the legend's entries, and their line.
  struct LegendPlace {
    double x;
    std::size_t line;
  };
  [[nodiscard]] std::vector<LegendPlace> legend() const;

 private:
  double scale_, width_, height_ = 0, legend_top_ = 0;  // before what is laid out in them
  const Picture* picture_;
  PlacedAxis x_, y_;
  std::vector<std::string> series_, title_, foot_;
  Box2 area_;
};

}  // namespace mlsysim::detail
