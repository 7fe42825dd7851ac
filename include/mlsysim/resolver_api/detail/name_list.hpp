#pragma once
/// Splits a text at commas into names.
///
/// Example: `names_in(" Iowa ,,\tTexas,")` is {"Iowa", "Texas"}.

#include <algorithm>
#include <string_view>
#include <vector>

namespace mlsysim {

/// A text without leading and trailing spaces, tabs and line ends.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// The names between commas, trimmed. Empty ones are left out.
[[nodiscard]] inline std::vector<std::string_view> names_in(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = text.find(',');
    if (const auto name = trimmed(text.substr(0, end)); !name.empty()) out.push_back(name);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

}  // namespace mlsysim
