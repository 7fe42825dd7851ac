#pragma once
/// Reads a plugin manifest (`*.plugin.yaml`), which lists a plugin without opening its library.
///
/// Unknown and missing keys, and paths that leave the folder, are errors. A manifest has at most 64 KiB.
/// Example: /srv/plugins/acme.plugin.yaml with `name: acme`, `version: 1.2.0`, `library:
/// mlsysim-plugin-acme.so`, `abi: {major: 1, min_minor: 0}`, `registers: [model acme/X]` gives the library
/// /srv/plugins/mlsysim-plugin-acme.so, abi_major 1 and one registration ("model", "acme/X").

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim::plugin {

/// The content of a manifest.
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

/// Reads a manifest. @throws InputError, ErrorList with every problem
[[nodiscard]] Manifest read_manifest(const std::filesystem::path& file);
[[nodiscard]] Manifest parse_manifest(std::string text, const std::filesystem::path& file);

/// Names of the variants that this machine can run, best first: "x86-64-v4", "x86-64-v3", ...
[[nodiscard]] std::vector<std::string> machine_variants();

}  // namespace mlsysim::plugin
