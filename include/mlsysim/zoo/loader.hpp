#pragma once
/// Reads the zoo and the user's entries from YAML files, and checks them.
///
/// Files of the shipped zoo come first, then the folders of MLSYSIM_ZOO_PATH, then the files that the user
/// names.
/// Example: `standard_zoo().at<Workload>("Llama3_70B").layers()` is 80.

#include <mlsysim/specs/zoo.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace mlsysim {

/// Whether the binary cache beside the files is used. It is only a faster way to the same trees: a file whose
/// content differs from the cached one is parsed.
enum class ZooCache : std::uint8_t { use, ignore };

/// Whether the folders of the environment variable MLSYSIM_ZOO_PATH are read too.
enum class ZooEnvironment : std::uint8_t { use, ignore };

struct LoadOptions {
  std::filesystem::path directory;                ///< the shipped zoo; empty for zoo_directory()
  std::vector<std::filesystem::path> additional;  ///< files and folders of the user, read after it
  ZooCache cache = ZooCache::use;
  ZooEnvironment environment = ZooEnvironment::use;
};

/// The folder of the shipped zoo: the first element of MLSYSIM_ZOO_PATH where it holds catalogue.yaml, else
/// ../share/mlsysim/zoo or share/zoo relative to the program or library that holds this code.
/// @throws InputError naming every place that was looked at
[[nodiscard]] std::filesystem::path zoo_directory();

/// Names files and folders of the user, read behind those of MLSYSIM_ZOO_PATH, and in secure mode alone.
/// Before the zoo is loaded and before any thread is started.
void name_zoo_paths(std::vector<std::string> paths);

/// Reads all files of the zoo and of the user. Names of the user that are taken are errors.
/// @throws ErrorList with every problem of every file
[[nodiscard]] Zoo load_zoo(const LoadOptions& options = {});

/// The zoo with the user's folders, loaded on first use; thread-safe. A failed load is tried again on the
/// next call.
[[nodiscard]] const Zoo& standard_zoo();

/// Reads one file of the user into a zoo of its own, for a device or model given as a path:
/// `load_file("my_gpu.yaml").only<HardwareNode>()`. Names that the file refers to but does not define are
/// looked up in `base`, which must outlive the result. Entries may leave out their source, and `lint` reports
/// it.
/// @throws ErrorList with every problem of the file
[[nodiscard]] Zoo load_file(const std::filesystem::path& file, const Zoo& base = standard_zoo());

/// Reads the text of a file as `load_file` does; `name` stands for it in messages.
[[nodiscard]] Zoo load_text(std::string text, const std::string& name, const Zoo& base);

/// Errors and warnings that a check of zoo files finds.
struct LintReport {
  std::vector<ErrorFacts> problems;  ///< problems that load_zoo would throw
  std::vector<ErrorFacts> warnings;  ///< units not in canonical spelling, sources that were not read again
};

/// Checks the files that `load_zoo` would read. @throws InputError only when there is no zoo to check
[[nodiscard]] LintReport lint(const LoadOptions& options = {});

}  // namespace mlsysim
