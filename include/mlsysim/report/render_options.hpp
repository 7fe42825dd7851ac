#pragma once
/// Options of every renderer: output format, verbosity, color, width and digits.
///
/// Text and Markdown round numbers to `digits` significant digits. JSON and CSV keep numbers exact.
/// Example: 0.0123456789 s with digits 4 is "12.35 ms" in text.

#include <mlsysim/reflect/choice.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mlsysim {

/// Form of an answer: for a reader, for a program, for a page, for a spreadsheet.
enum class OutputFormat : std::uint8_t { text, json, markdown, csv };
template <> inline constexpr auto names_of<OutputFormat> = ChoiceNames{"output format"};

/// Whether text and Markdown include the lists that a reader rarely needs. JSON always includes them.
enum class Verbosity : std::uint8_t { brief, verbose };
/// Whether text may hold the color codes of terminals.
enum class Colour : std::uint8_t { off, on };

/// Options of a renderer. The defaults give brief text without color.
struct RenderOptions {
  OutputFormat format = OutputFormat::text;
  Verbosity verbosity = Verbosity::brief;
  Colour colour = Colour::off;
  std::size_t width = 96;  ///< columns of the box of a scorecard, at least 60
  int digits = 4;
};

}  // namespace mlsysim
