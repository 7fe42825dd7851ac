#pragma once
/// Text in small letters: A to Z become a to z, and every other character stays.
///
/// Example: `lower("CUDA_Graphs 4K")` is "cuda_graphs 4k".

#include <string>
#include <string_view>

namespace mlsysim::detail {

/// The text with small letters of ASCII, whatever the locale.
[[nodiscard]] inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace mlsysim::detail
