#pragma once
/// Lists of names in one text: "Quebec, US_Avg".

#include <algorithm>
#include <string_view>
#include <vector>

namespace mlsysim {

/// The names between commas, without the blanks around them; nothing between two commas is no name.
[[nodiscard]] inline std::vector<std::string_view> names_in(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = text.find(',');
    auto name = text.substr(0, end);
    name.remove_prefix(std::min(name.find_first_not_of(blanks), name.size()));
    name = name.substr(0, name.find_last_not_of(blanks) + 1);
    if (!name.empty()) out.push_back(name);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

}  // namespace mlsysim
