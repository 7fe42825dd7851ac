#pragma once
/// Text without the blanks around it.
///
/// Example: `trimmed(" 8 GB\n")` is "8 GB".

#include <string_view>

namespace mlsysim::detail {

/// Whether `c` is a space, a tab, a carriage return or a newline.
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// The text from its first to its last character that is not blank.
constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace mlsysim::detail
