#pragma once
/// Names of figures that read otherwise in earlier releases, and the other ways to the same figure. A
/// figure's name is its path in the zoo's files.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim {

/// Names of earlier releases with those of today.
[[nodiscard]] std::span<const std::pair<std::string_view, std::string_view>> old_names();

/// Under what else a name may be found: its name of today, and the same figure seen from a fleet. Empty for a
/// name that no figure of a device has.
[[nodiscard]] std::vector<std::string> other_names(std::string_view name);

}  // namespace mlsysim
