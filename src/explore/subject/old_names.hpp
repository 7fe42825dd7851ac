#pragma once
/// Names that inputs had before models were tables of layers.

#include <mlsysim/table/describe.hpp>

#include <span>
#include <string_view>

namespace mlsysim {

/// The input of this name, or the one that an old name ("shape.ffn", "workload.moe.top_k") means now; null
/// where there is none.
/// @throws LookupError where an old name means several inputs now
[[nodiscard]] const FieldInfo* find_input(std::span<const FieldInfo> inputs, std::string_view name);

}  // namespace mlsysim
