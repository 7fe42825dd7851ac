#pragma once
// JSON of pictures.

#include <mlsysim/plot/picture.hpp>

#include <nlohmann/json.hpp>

#include <string_view>

namespace mlsysim::detail {

using PictureJson = nlohmann::ordered_json;

/// A cell: its number in `unit`, or its words; null where it has neither.
[[nodiscard]] inline PictureJson json_of(const Table::Cell& cell, std::string_view unit) {
  if (std::holds_alternative<double>(cell.value)) {
    const auto number = number_in(cell, unit);
    return number ? PictureJson(*number) : PictureJson(nullptr);
  }
  const auto words = words_of(cell);
  return words.empty() ? PictureJson(nullptr) : PictureJson(words);
}

}  // namespace mlsysim::detail
