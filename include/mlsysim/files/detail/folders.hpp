#pragma once
/// Folders that are made on the way to a file.

#include <filesystem>

namespace mlsysim::files {

/// Makes a folder and those above it, where they are not there yet.
/// @throws InputError that names what stands in the way
void make_folders(const std::filesystem::path& folder);

}  // namespace mlsysim::files
