#pragma once
/// The file beside a plugin that says what it is, so that nothing must be opened to list it.

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim::plugin {

/// A `*.plugin.yaml`, read strictly.
struct Manifest {
  std::filesystem::path file;
  std::string name, version, summary, license;
  std::filesystem::path library;  ///< absolute; empty for a plugin of zoo files alone
  std::string variant;  ///< name of the variant that was chosen for this machine; empty without variants
  std::vector<std::filesystem::path> zoo;  ///< files with entries, absolute
  std::vector<std::pair<std::string, std::string>>
      registers;  ///< kind and name, as PluginDescription::provides gives them
  bool says_what_it_registers = false;
  std::vector<std::pair<std::string, std::string>> config;  ///< defaults of options
  std::uint32_t abi_major = 0, abi_min_minor = 0;           ///< major 0: not stated
  std::string sha256;                                       ///< of the library; empty: not checked
  int priority = 400;     ///< the highest wins among plugins of one name in one folder
  bool isolated = false;  ///< asks to run in a process of its own
};

/// Reads a manifest of at most 64 KiB. @throws InputError, ErrorList with every problem: unknown and missing
/// keys, paths that leave the folder, ...
[[nodiscard]] Manifest read_manifest(const std::filesystem::path& file);
[[nodiscard]] Manifest parse_manifest(std::string text, const std::filesystem::path& file);

/// Names of the variants that this machine can run, best first: "x86-64-v4", "x86-64-v3", ...
[[nodiscard]] std::vector<std::string> machine_variants();

}  // namespace mlsysim::plugin
