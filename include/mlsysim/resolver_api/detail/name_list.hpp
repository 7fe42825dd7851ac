#pragma once
/// Splits a text at commas into names.
///
/// Example: `names_in(" Iowa ,,\tTexas,")` is {"Iowa", "Texas"}.

#include <mlsysim/units/detail/trimmed.hpp>

#include <string_view>
#include <vector>

namespace mlsysim {

/// The names between commas, trimmed. Empty ones are left out.
[[nodiscard]] inline std::vector<std::string_view> names_in(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = text.find(',');
    if (const auto name = detail::trimmed(text.substr(0, end)); !name.empty()) out.push_back(name);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

}  // namespace mlsysim
