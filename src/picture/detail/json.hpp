#pragma once
// JSON of pictures.

#include <mlsysim/picture/picture.hpp>

#include <nlohmann/json.hpp>

#include <string>
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

/// Two blanks of indentation and a last newline; text that is not UTF-8 is replaced rather than refused.
[[nodiscard]] inline std::string written(const PictureJson& json) {
  return json.dump(2, ' ', false, PictureJson::error_handler_t::replace) + "\n";
}

}  // namespace mlsysim::detail
