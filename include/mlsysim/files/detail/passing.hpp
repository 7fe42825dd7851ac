#pragma once
/// Files that need not outlast a loss of power: telemetry. Making sure that others do takes milliseconds of
/// the disk, which results are worth.

#include <filesystem>
#include <string_view>

namespace mlsysim::files {

struct WriteHow;

/// As `write`, without waiting for the disk: whole or not at all for whoever reads it meanwhile.
void write_passing(const std::filesystem::path& file, std::string_view bytes, const WriteHow& how);
/// As `begin`, without waiting for the disk.
[[nodiscard]] int begin_passing(const std::filesystem::path& file, const WriteHow& how);

}  // namespace mlsysim::files
