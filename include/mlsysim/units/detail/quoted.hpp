#pragma once
/// Quoting of foreign texts for CSV tables, shells and comments.
///
/// Example: `csv_field("=1+1")` is '=1+1, `shell_word("a b")` is 'a b', `one_line("a\nb")` is a\x0ab.

#include <string>
#include <string_view>

namespace mlsysim::detail {

/// A cell of a CSV table. Spreadsheets run cells that begin with `=`, `+`, `-`, `@`, a tab or a line end.
/// Such a text gets an apostrophe in front, unless it is a signed number with or without a unit. Control
/// characters other than tabs and newlines are shown as \x1b.
[[nodiscard]] std::string csv_field(std::string_view text);

/// A word that a shell reads back unchanged.
[[nodiscard]] std::string shell_word(std::string_view text);

/// A text that ends no line, for comments: control characters are shown as \x0a.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace mlsysim::detail
