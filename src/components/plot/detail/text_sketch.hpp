#pragma once
// Boxes and the lines between them in characters.

#include <mlsysim/plot/picture.hpp>

#include <cstddef>
#include <string>

namespace mlsysim::detail {

/// A picture whose axes only arrange. Words that have no room in their box or on their line are listed below;
/// where the sketch would be too high to read, boxes and lines are listed instead.
[[nodiscard]] std::string sketch_text(const Picture& picture, std::size_t width);

}  // namespace mlsysim::detail
