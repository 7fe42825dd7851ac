#pragma once
// One axis out of a file that holds a list.

#include <mlsysim/explore/space/space.hpp>

namespace mlsysim::detail {

using AxisValue = std::function<DynamicValue(std::string_view name, std::string_view text)>;

/// @throws InputError, ErrorList with file, line and column
[[nodiscard]] SpaceAxis axis_in_file(std::vector<std::string> names, const std::string& path,
                                     const AxisValue& value);

}  // namespace mlsysim::detail
