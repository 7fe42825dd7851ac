#pragma once
/// Names of results and inputs for readers: "ttft" is "first token (TTFT)", "hardware.memory.bandwidth" is
/// "memory bandwidth".

#include <string>
#include <string_view>

namespace mlsysim {

/// The label of a key. A key without a row in the table of `src/reflect/label.cpp` is read as words: its last
/// part, with blanks for underscores, behind the group that it belongs to ("hardware.kernels.attention_split"
/// is "kernel time: attention split").
[[nodiscard]] std::string label_of(std::string_view key);
/// The abbreviation of a label, for a sentence or a column: "TTFT"; the whole label where it has none.
[[nodiscard]] std::string short_label(std::string_view key);
/// Whether the table has a row for the key.
[[nodiscard]] bool has_label(std::string_view key);

}  // namespace mlsysim
