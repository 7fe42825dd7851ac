#pragma once
/// How answers are shown.

#include <mlsysim/reflect/choice.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mlsysim {

/// Form of an answer: for a reader, for a program, for a page, for a spreadsheet.
enum class OutputFormat : std::uint8_t { text, json, markdown, csv };
template <> inline constexpr auto names_of<OutputFormat> = ChoiceNames{"output format"};

/// Whether lists that a reader rarely needs are written out in text and markdown. JSON always has them.
enum class Verbosity : std::uint8_t { brief, verbose };
/// Whether text may hold the color codes of terminals.
enum class Colour : std::uint8_t { off, on };

/// Options of every renderer. Numbers are rounded to `digits` significant digits in text and markdown; in
/// JSON and CSV they read back as the same double.
struct RenderOptions {
  OutputFormat format = OutputFormat::text;
  Verbosity verbosity = Verbosity::brief;
  Colour colour = Colour::off;
  std::size_t width = 96;  ///< columns of the box of a scorecard, at least 60
  int digits = 4;
};

}  // namespace mlsysim
