#pragma once
/// Version of the library, as macros and as a text. The build, the Python package and the documentation read
/// it here.
///
/// Example: `version_text` is "0.1.0".

#include <string_view>

// The three numbers serve `#if`. The build fails where the text differs from them.
#define MLSYSIM_VERSION_MAJOR 0
#define MLSYSIM_VERSION_MINOR 1
#define MLSYSIM_VERSION_PATCH 0
#define MLSYSIM_VERSION_TEXT "0.1.0"

namespace mlsysim {

/// Version of the headers that are being compiled, as `major.minor.patch`.
inline constexpr std::string_view version_text = MLSYSIM_VERSION_TEXT;

}  // namespace mlsysim
