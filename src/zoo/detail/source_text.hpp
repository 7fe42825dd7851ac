#pragma once
/// The bytes of a file that is read, and messages that point into them.

#include "zoo_faults.hpp"

#include <mlsysim/units/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace mlsysim::detail {

/// Largest file that is read [byte]; a larger one is refused by its size, before it is opened.
inline constexpr std::uintmax_t kLargestFile = 16u << 20;

struct SourceText {
  std::string file;   ///< as messages name it
  std::string bytes;  ///< UTF-8 without byte-order mark
};

/// A place in a SourceText, both from 1; the column counts bytes. 0 means the whole file.
struct Place {
  std::uint32_t line = 0, column = 0;
};

/// Reads a text file. @throws InputError for what is not a readable, small UTF-8 text file
[[nodiscard]] SourceText read_source(const std::filesystem::path& file);
/// Refuses NUL bytes, broken UTF-8 and texts without content. @throws InputError
void check_text(const SourceText& source);

/// Fills in location and excerpt with a caret.
[[nodiscard]] ErrorFacts placed(ErrorFacts facts, const std::string& file, std::string_view bytes, Place at);
[[nodiscard]] inline ErrorFacts placed(ErrorFacts facts, const SourceText& source, Place at) {
  return placed(std::move(facts), source.file, source.bytes, at);
}

/// Hash of the content; stable across runs and machines of one byte order.
[[nodiscard]] std::uint64_t content_hash(std::string_view bytes);

/// A text in quotes for a message: control characters shown as '?', long texts cut.
[[nodiscard]] std::string quoted_text(std::string_view text);

}  // namespace mlsysim::detail
