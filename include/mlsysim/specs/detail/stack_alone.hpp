#pragma once
/// A stack by itself, whatever its role in a model.

#include <mlsysim/specs/workload.hpp>

#include <string>
#include <vector>

namespace mlsysim::detail {

/// Lists the parts of a stack that no lowering rule covers, as paths below it: "mixer.cross". Encoders and
/// decoders differ only at their ends, which this list leaves out.
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
