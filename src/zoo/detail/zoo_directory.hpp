#pragma once
/// Folders named by the environment.

#include <filesystem>
#include <vector>

namespace mlsysim::detail {

/// The elements of MLSYSIM_ZOO_PATH, separated by ':', in order.
[[nodiscard]] std::vector<std::filesystem::path> environment_folders();

}  // namespace mlsysim::detail
