#pragma once
/// Readable names of results and inputs, for text and charts.
///
/// Example: `label_of("ttft")` is "first token (TTFT)", and `short_label("ttft")` is "TTFT".

#include <string>
#include <string_view>

namespace mlsysim {

/// The label of a key. A key without a row in the table of `src/reflect/label.cpp` becomes words. These are
/// the group of the key and its last part with blanks for underscores: "hardware.kernels.attention_split" is
/// "kernel time: attention split".
[[nodiscard]] std::string label_of(std::string_view key);
/// The abbreviation of a label, for a sentence or a column: "TTFT"; the whole label where it has none.
[[nodiscard]] std::string short_label(std::string_view key);
/// Whether the table has a row for the key.
[[nodiscard]] bool has_label(std::string_view key);

}  // namespace mlsysim
