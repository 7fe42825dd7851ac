#pragma once
/// Lists of names.

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace mlsysim {

/// Whether a list holds a name.
inline bool among(std::span<const std::string> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace mlsysim
