#pragma once
/// Texts of others inside what other programs read: tables, shells, comments.

#include <string>
#include <string_view>

namespace mlsysim::detail {

/// A cell of a CSV table. A spreadsheet runs cells that begin with `=`, `+`, `-`, `@` or a blank of control:
/// such a text, unless it is a number with or without a unit, begins with an apostrophe instead. Control
/// characters but tabs and ends of lines are shown as \x1b. `csv_field("=1+1")` is `'=1+1`.
[[nodiscard]] std::string csv_field(std::string_view text);

/// A word as a shell reads it back, whatever is in it. `shell_word("a b")` is `'a b'`.
[[nodiscard]] std::string shell_word(std::string_view text);

/// A text that ends no line, for comments: control characters are shown as \x0a.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace mlsysim::detail
