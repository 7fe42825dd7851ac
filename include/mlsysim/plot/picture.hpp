#pragma once
/// A picture as data: tables with units, marks that draw them, axes, sources and notes.
///
/// Every output form (SVG, PNG, PDF, HTML, Vega-Lite, text) is made from this one description, so forms
/// cannot disagree. Tables hold base units. An axis names the unit in which its columns are read.
/// Example: a cell of 0.012 s on an axis in "ms" is drawn at 12. `readable_unit(0.012, time)` is "ms".

#include <mlsysim/report/table.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// How values become places on an axis. A `place` has neither ticks nor a unit: it only arranges.
enum class Scale : std::uint8_t { linear, logarithmic, category, place };
template <> inline constexpr auto names_of<Scale> = ChoiceNames{"scale"};

struct PictureAxis {
  std::string title{};
  std::string unit{};  ///< in which its columns are read; empty for counts, fractions and categories
  Scale scale = Scale::linear;
  std::vector<std::string> categories{};  ///< of a category axis, in order: from the top, or from the left
  bool from_zero = false;                 ///< a linear axis that must show zero
  std::optional<double> low{}, high{};    ///< ends, in `unit`, where the data does not say them
};

enum class MarkShape : std::uint8_t {
  bar,    ///< from `x` to `x_end` at category `y`; or from 0 to `y` over [x, x_end]; or a box with all four
  line,   ///< through (x, y) in the order of the rows, one for each series
  point,  ///< at (x, y)
  rule,   ///< from (x, y) to (x_end, y_end); across the whole picture where one axis has no column
  text,   ///< `label` at (x, y)
  cell    ///< a field of a heat map at the categories (x, y), darker for a larger `amount`
};
template <> inline constexpr auto names_of<MarkShape> = ChoiceNames{"mark"};

/// One table, and how to draw it. Text members name columns; empty ones are not used.
struct PictureMark {
  MarkShape shape = MarkShape::point;
  Table data{};
  std::string x{}, y{}, x_end{}, y_end{};
  std::string series{};  ///< told apart by color and by hatch, dash or shape, and named in the legend
  std::string label{};   ///< a text beside the mark, where there is room
  std::string amount{};  ///< of cells
};

/// The page of a picture, in pixels; a point of paper is 4/3 of one.
struct PictureStyle {
  double width = 760;
  double height = 0;  ///< 0: as much as the picture needs
  double font = 12;   ///< size of ticks and labels; lines, marks and titles grow with it
};

struct Picture {
  std::string kind{};         ///< "roofline"
  std::string title{};        ///< "Llama3_70B on 8 x H100: roofline of one token"
  std::string description{};  ///< what is seen, in one or two sentences
  PictureAxis x{}, y{};
  std::vector<PictureMark> marks{};
  std::vector<std::string> sources{};  ///< where the figures come from
  std::vector<std::string> notes{};    ///< what a reader must know to read it right
  PictureStyle style{};
};

/// Replaces the text `from` by `to` in axis titles, categories, series and labels. "x" and "y" mean the
/// titles of the axes. @throws InputError with the texts of the picture
void relabel(Picture& picture, std::string_view from, const std::string& to);

/// A number of a cell in a unit; empty for texts and for numbers that are not finite.
/// @throws DimensionError where the unit does not suit the cell
[[nodiscard]] std::optional<double> number_in(const Table::Cell& cell, std::string_view unit);
/// The text of a cell: the text itself, or the number with a readable unit.
[[nodiscard]] std::string words_of(const Table::Cell& cell);
/// Index of a column. @throws InputError where the table has none of that name
[[nodiscard]] std::size_t column_of(const Table& table, std::string_view name);

/// The unit in which the largest of some numbers reads well.
[[nodiscard]] std::string readable_unit(double largest, const Exponents& exps);

/// Refuses a description that cannot be drawn: an unknown column or category, a unit of another dimension, or
/// no title, description or mark. @throws InputError, DimensionError
void check(const Picture& picture);

}  // namespace mlsysim
