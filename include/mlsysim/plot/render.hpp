#pragma once
/// Renders a picture as text, SVG, PNG, PDF, HTML, Vega-Lite, JSON or CSV.
///
/// Equal pictures give equal bytes. PNG and PDF are drawn from the SVG by librsvg, which must be installed.
/// Series differ in color and also in hatch, dash and shape. Series colors have a contrast of at least 3 to
/// white.
/// Example: the PNG of a picture whose SVG is 760 pixels wide has 1,520 pixels in a row (2 for 1).

#include <mlsysim/plot/picture.hpp>

#include <array>
#include <string>
#include <string_view>

namespace mlsysim {

enum class PictureForm : std::uint8_t {
  text,  ///< characters, for a terminal
  svg,   ///< with title, desc and hatches: readable without colors
  png,   ///< drawn from the SVG by librsvg, where the machine has it
  pdf,   ///< one page of vectors and text, for papers; drawn as PNG is
  html,  ///< a page that needs nothing from elsewhere: the SVG and the data
  vega,  ///< a Vega-Lite specification with its data
  json,  ///< the tables
  csv    ///< the table of the first mark
};
template <> inline constexpr auto names_of<PictureForm> = ChoiceNames{"form of a picture"};

/// A picture in a form, as the bytes of a file.
/// @throws InputError for a description that cannot be drawn; SolverError for PNG and PDF where librsvg is
/// missing
[[nodiscard]] std::string render(const Picture& picture, PictureForm form, std::size_t width = 96);

[[nodiscard]] std::string to_svg(const Picture& picture);
[[nodiscard]] std::string to_text(const Picture& picture, std::size_t width = 96);
[[nodiscard]] std::string to_vega(const Picture& picture);
[[nodiscard]] std::string to_html(const Picture& picture);
/// PNG or PDF. @throws SolverError with the missing library
[[nodiscard]] std::string drawn_by_librsvg(const Picture& picture, PictureForm form);

/// Colors of series on white, in order, as "#rrggbb".
[[nodiscard]] const std::array<std::string_view, 8>& series_colours();
/// Colors of words; contrast of 4.5 or more to white.
inline constexpr std::array<std::string_view, 2> kTextColours{"#111111", "#555555"};

}  // namespace mlsysim
