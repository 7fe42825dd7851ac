#pragma once
/// Writes files that need not survive a loss of power, such as telemetry, without waiting for the disk.
///
/// Readers still see a file that is complete or not changed at all.
/// Example: `write_passing("m.json", "{}", how)` leaves a file of 2 bytes.

#include <filesystem>
#include <string_view>

namespace mlsysim::files {

struct WriteHow;

/// As `write`, without waiting for the disk.
void write_passing(const std::filesystem::path& file, std::string_view bytes, const WriteHow& how);
/// As `begin`, without waiting for the disk.
[[nodiscard]] int begin_passing(const std::filesystem::path& file, const WriteHow& how);

}  // namespace mlsysim::files
