#include "detail/zoo_directory.hpp"

#include "detail/zoo_faults.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#endif

/// Where the zoo of the installation lies that a program was built against: defined by a source file that the
/// CMake package adds to the program (cmake/installed_zoo.cpp), absent in any other.
extern "C" [[gnu::weak]] const char* mlsysim_installed_zoo();
/// The unpacked zoo of a program that carries one (tool/embedded_zoo.cpp), empty where it cannot be unpacked;
/// absent in any other.
extern "C" [[gnu::weak]] const char* mlsysim_embedded_zoo();

namespace mlsysim {
namespace {

namespace fs = std::filesystem;

// Marks a whole zoo. A folder that a user adds lacks this file, though it may have a references.yaml.
constexpr const char* kMark = "catalogue.yaml";

bool is_zoo(const fs::path& folder) {
  std::error_code failed;
  return fs::is_regular_file(folder / kMark, failed);
}

/// Files that may hold this code: the shared object of this function, then the running program.
std::vector<fs::path> code_files() {
  std::vector<fs::path> files;
  const auto add = [&files](const fs::path& file) {
    std::error_code failed;
    auto real = fs::canonical(file, failed);
    if (!failed && (files.empty() || files.front() != real)) files.push_back(std::move(real));
  };
#if defined(__unix__) || defined(__APPLE__)
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&is_zoo), &info) != 0 && info.dli_fname != nullptr)
    add(info.dli_fname);
#endif
  add("/proc/self/exe");
  return files;
}

std::vector<std::string> named_folders;

}  // namespace

void name_zoo_paths(std::vector<std::string> paths) { named_folders = std::move(paths); }

std::vector<fs::path> detail::environment_folders() {
  std::vector<fs::path> folders;
  const char* value = files::secure() ? nullptr : std::getenv("MLSYSIM_ZOO_PATH");
  const std::string all = fmt::format("{}:{}", value == nullptr ? "" : value, fmt::join(named_folders, ":"));
  std::string_view rest = all;
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    const auto part = rest.substr(0, colon);
    if (!part.empty()) folders.emplace_back(part);
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return folders;
}

fs::path zoo_directory() {
  std::vector<std::string> looked_at;
  const auto environment = detail::environment_folders();
  if (!environment.empty()) {
    if (is_zoo(environment.front())) return environment.front();
    looked_at.push_back(environment.front().generic_string());
  }
  for (const auto& file : code_files()) {
    for (const char* relative : {"../share/mlsysim/zoo", "share/zoo"}) {
      auto folder = (file.parent_path() / relative).lexically_normal();
      if (is_zoo(folder)) return folder;
      looked_at.push_back(folder.generic_string());
    }
  }
  // The last resort, for programs that link the library but lie elsewhere themselves. A program that carries
  // a zoo prefers its own to one that another version may have installed.
  for (const char* installed :
       {mlsysim_installed_zoo != nullptr ? mlsysim_installed_zoo() : "",
        mlsysim_embedded_zoo != nullptr ? mlsysim_embedded_zoo() : "", MLSYSIM_ZOO_INSTALL_DIR}) {
    if (*installed == '\0') continue;
    if (is_zoo(installed)) return installed;
    looked_at.emplace_back(installed);
  }
  throw InputError({.id = std::string(detail::id_of(detail::ZooFault::no_zoo)),
                    .message = "the zoo is not found",
                    .key = "MLSYSIM_ZOO_PATH",
                    .found = fmt::format("no {} in {}", kMark, fmt::join(looked_at, ", ")),
                    .expected = "the folder of the zoo's YAML files",
                    .hint = "set MLSYSIM_ZOO_PATH to it, or install mlsysim with its data"});
}

}  // namespace mlsysim
