#pragma once
/// Decides which files this process may read: all of them, or only those below some folders.
///
/// A confinement follows links as long as they stay below its folders. A path that leads out fails with
/// EXDEV.
/// Example: while `Confinement({"/work/models"})` lives, `exists("/etc/passwd")` is false.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

struct stat;

namespace mlsysim::files {

/// While it lives, the readers of this process read below these folders alone. Create at most one at a time,
/// before other threads read.
class Confinement {
 public:
  /// @throws InputError where one of them is no folder that can be opened
  explicit Confinement(const std::vector<std::filesystem::path>& folders);
  Confinement(const Confinement&) = delete;
  Confinement& operator=(const Confinement&) = delete;
  ~Confinement();
};

/// As `open(2)`: a descriptor, or -1 with errno, which is EXDEV for a path that leads out of the confinement.
[[nodiscard]] int open_allowed(const std::filesystem::path& file, int flags);
/// As `stat(2)`, within the confinement.
[[nodiscard]] int stat_allowed(const std::filesystem::path& file, struct stat& found);

/// Whether a path leads to something that may be read. It never throws: what cannot be looked at is not
/// there.
[[nodiscard]] bool exists(const std::filesystem::path& file);
/// Whether it leads to a folder.
[[nodiscard]] bool is_folder(const std::filesystem::path& file);
/// Bytes of a regular file; 0 for everything else.
[[nodiscard]] std::uint64_t size_of(const std::filesystem::path& file);

/// One entry of a folder, which `entries_of` lists.
struct FolderEntry {
  std::string name;
  bool folder = false;  ///< a folder itself: a link to one is none
};
/// The entries of a folder but "." and "..", in order; errno is in `failed`, 0 for success.
[[nodiscard]] std::vector<FolderEntry> entries_of(const std::filesystem::path& folder, int& failed);

/// Opens a path below an open folder one component after the other and follows no link at all: for systems
/// without openat2(2). As `openat(2)`.
[[nodiscard]] int open_without_links(int folder, const std::filesystem::path& below, int flags);

}  // namespace mlsysim::files
