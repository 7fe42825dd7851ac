#pragma once
/// Text without the blanks around it.

#include <string_view>

namespace mlsysim::detail {

/// A space, a tab, or what ends a line.
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// `trimmed(" 8 GB\n")` is "8 GB".
constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace mlsysim::detail
