#pragma once
// Points of a block whose resolver failed, told beside the numbers: one plugin that crashes costs its points and no more.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim::detail {

/// Index within the block, and why. Of this thread: a batch runs on the thread that reads this afterwards.
inline std::vector<std::pair<std::size_t, std::string>>& point_failures() {
  thread_local std::vector<std::pair<std::size_t, std::string>> all;
  return all;
}

}  // namespace mlsysim::detail
