#pragma once
/// Lists the parts of one stack that no lowering rule covers, whatever the role of the stack in its model.
///
/// Example: a stack whose layers use an RG-LRU mixer gives "mixer.recurrent". A plain decoder gives nothing.

#include <mlsysim/specs/workload.hpp>

#include <string>
#include <vector>

namespace mlsysim::detail {

/// Paths are relative to the stack. Encoders and decoders differ only at their ends, which this list leaves
/// out.
[[nodiscard]] inline std::vector<std::string> stack_without_law(const Stack& stack) {
  Workload alone;
  alone.stacks = {stack};
  alone.stacks.front().role = StackRole::decoder;
  alone.stacks.front().output.logits = true;
  auto parts = parts_without_law(alone);
  for (auto& part : parts) part.erase(0, part.find('.') + 1);
  return parts;
}

}  // namespace mlsysim::detail
