#pragma once
/// Layout of plain text for terminals: width, padding, wrapping, colors, bars and boxes.
///
/// A character of UTF-8 counts as one column, and color codes count as none. Wide characters of East Asian
/// scripts are not known.
/// Example: `bar(0.375, 8)` fills 3 of 8 places, and `wrapped("a bb ccc", 4)` gives "a bb" and "ccc".

#include <mlsysim/report/render_options.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

enum class Paint : std::uint8_t { plain, bold, dim, good, bad, warn };

/// The text in a color; unchanged when colors are off.
[[nodiscard]] std::string painted(std::string_view text, Paint paint, Colour colour);

/// Columns that a text takes on a terminal.
[[nodiscard]] std::size_t shown_width(std::string_view text);
/// The text with blanks to its right, or to its left.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width);
[[nodiscard]] std::string padded_left(std::string_view text, std::size_t width);
/// Lines of at most `width` columns, broken at blanks; a longer word stands alone.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// A bar of `width` columns, `share` of it full (a share above 1 fills it).
[[nodiscard]] std::string bar(double share, std::size_t width);

/// Lines in a frame with a title.
class Box {
 public:
  Box(std::size_t width, Colour colour) : width_(width), colour_(colour) {}
  /// A line, wrapped; the lines after the first are indented by `indent`.
  void line(std::string_view text, std::size_t indent = 0);
  /// A line that is neither wrapped nor indented.
  void raw(std::string text) { lines_.push_back(std::move(text)); }
  void rule() { lines_.emplace_back(kRule); }
  [[nodiscard]] std::string text(std::string_view title) const;
  [[nodiscard]] std::size_t inner() const { return width_ - 4; }

 private:
  static constexpr std::string_view kRule = "\x01";
  std::size_t width_;
  Colour colour_;
  std::vector<std::string> lines_;
};
/// A text in a cell of a Markdown table.
[[nodiscard]] std::string markdown_cell(std::string_view text);

}  // namespace mlsysim::detail
