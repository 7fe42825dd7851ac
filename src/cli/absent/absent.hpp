#pragma once
// Commands of components that are not built.

#include "../program.hpp"

#include <string_view>

namespace mlsysim::cli {

/// Says which component a command or an option belongs to, and how to get it: by the CMake option
/// MLSYSIM_WITH_<COMPONENT>.
[[noreturn]] void refuse_absent(std::string_view what, std::string_view component);

}  // namespace mlsysim::cli
