#pragma once
/// Lists of names in one text: "Quebec, US_Avg".

#include <algorithm>
#include <string_view>
#include <vector>

namespace mlsysim {

/// A text without the blanks around it.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// The names between commas, without the blanks around them; nothing between two commas is no name.
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
