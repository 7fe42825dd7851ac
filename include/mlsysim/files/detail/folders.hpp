#pragma once
/// Creates a folder and its parents, as `mkdir -p` does.
///
/// Example: `make_folders("/tmp/a/b")` creates /tmp/a and /tmp/a/b. `make_folders("/etc/passwd/x")` throws
/// InputError.

#include <filesystem>

namespace mlsysim::files {

/// Creates a folder and its parents where they are missing.
/// @throws InputError that names what stands in the way
void make_folders(const std::filesystem::path& folder);

}  // namespace mlsysim::files
