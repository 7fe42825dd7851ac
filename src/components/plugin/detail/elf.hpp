#pragma once
/// Reads facts about a library file without executing any of its code.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::plugin::detail {

/// Facts of a shared library. With a `fault` the rest is as far as it was read.
struct ElfFacts {
  std::string fault;  ///< why the file cannot be opened safely; empty when it can
  std::string check;  ///< id of the check that failed: "L01" ... "L04"
  std::string hint;
  std::uint64_t file_bytes = 0;
  std::vector<std::string> exported;   ///< symbols that others can see, sorted
  std::vector<std::string> undefined;  ///< symbols that others must bring, sorted
  std::vector<std::string>
      unique;  ///< GNU_UNIQUE symbols: shared between copies, and the library never unloads
  std::vector<std::string> needed;  ///< libraries that must be loaded with it
  bool text_relocations = false;

  [[nodiscard]] bool exports(std::string_view symbol) const;
};

/// Reads the headers, segments and symbols of a file. Never throws for a bad file: that is its answer.
[[nodiscard]] ElfFacts read_elf(const std::filesystem::path& file);
[[nodiscard]] ElfFacts read_elf_bytes(std::string_view bytes);

/// SHA-256 as lower-case hexadecimal (FIPS 180-4).
[[nodiscard]] std::string sha256(std::string_view bytes);
/// A whole file. @throws PluginError when it cannot be read or is larger than `limit`
[[nodiscard]] std::string read_file(const std::filesystem::path& file, std::uint64_t limit);

}  // namespace mlsysim::plugin::detail
