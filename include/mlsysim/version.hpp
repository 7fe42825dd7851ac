#pragma once
/// Version of the library. The build system, the Python package and the documentation read it from this file.

#include <string_view>

// The three numbers serve `#if`; the text must say the same (the build refuses a mismatch).
#define MLSYSIM_VERSION_MAJOR 0
#define MLSYSIM_VERSION_MINOR 1
#define MLSYSIM_VERSION_PATCH 0
#define MLSYSIM_VERSION_TEXT "0.1.0"

namespace mlsysim {

/// Version of the headers that are being compiled, as `major.minor.patch`.
inline constexpr std::string_view version_text = MLSYSIM_VERSION_TEXT;

}  // namespace mlsysim
