#include "closed.hpp"

#include <mlsysim/files/detail/roots.hpp>

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>

#if defined(__linux__)
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif
#ifndef O_PATH
#define O_PATH (O_RDONLY | O_NONBLOCK | O_NOCTTY)
#endif

namespace mlsysim::files {
namespace {

namespace fs = std::filesystem;

struct Root {
  std::unique_ptr<Closed> folder;
  std::vector<fs::path> names;  ///< as it was given, and without links
};

std::atomic<const std::vector<Root>*> roots = nullptr;

fs::path plain(const fs::path& path) {
  std::error_code failed;
  auto out = fs::absolute(path, failed).lexically_normal();
  return out.has_filename() ? out : out.parent_path();
}

/// The part of a path below a folder, "." for the folder itself; empty where it does not begin with it.
fs::path below(const fs::path& path, const fs::path& folder) {
  const auto [left, mine] = std::mismatch(path.begin(), path.end(), folder.begin(), folder.end());
  if (mine != folder.end()) return {};
  fs::path out;
  for (auto it = left; it != path.end(); ++it) out /= *it;
  return out.empty() ? fs::path(".") : out;
}

int open_beneath(int folder, const fs::path& path, int flags) {
#if defined(SYS_openat2)
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int again = 0; again < 16; ++again) {
    const auto file = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
    if (file >= 0) return static_cast<int>(file);
    if (errno == ENOSYS || errno == EPERM) return open_without_links(folder, path, flags);
    if (errno != EAGAIN && errno != EINTR) return -1;  // EAGAIN: something above was renamed meanwhile
  }
  return -1;
#else
  return open_without_links(folder, path, flags);
#endif
}

}  // namespace

Confinement::Confinement(const std::vector<fs::path>& folders) {
  auto made = std::make_unique<std::vector<Root>>();
  for (const auto& folder : folders) {
    std::error_code failed;
    const int file = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
      throw InputError({.id = "mlsysim.files.012",
                        .message = "a folder that may be read cannot be opened",
                        .key = folder.generic_string(),
                        .found = fmt::format("'{}': {}", folder.generic_string(), std::strerror(errno)),
                        .expected = "a folder",
                        .hint = "check the path and the permissions"});
    made->push_back({std::make_unique<Closed>(file), {plain(folder), plain(fs::canonical(folder, failed))}});
  }
  roots = made.release();
}

Confinement::~Confinement() { delete roots.exchange(nullptr); }

int open_without_links(int folder, const fs::path& path, int flags) {
  std::unique_ptr<Closed> above;
  for (auto it = path.begin(); it != path.end(); ++it) {
    const bool last = std::next(it) == path.end();
    if (*it == "..") return errno = EXDEV, -1;
    const int from = above ? above->get() : folder;
    const int next = ::openat(from, it->c_str(),
                              (last ? flags : O_PATH | O_DIRECTORY | O_CLOEXEC) | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) return -1;
    struct stat s {};
    // O_PATH opens a link itself where it is told to follow none.
    if (::fstat(next, &s) != 0 || S_ISLNK(s.st_mode)) return ::close(next), errno = ELOOP, -1;
    if (last) return next;
    above = std::make_unique<Closed>(next);
  }
  return errno = ENOENT, -1;
}

int open_allowed(const fs::path& file, int flags) {
  const auto* const allowed = roots.load();
  if (allowed == nullptr) return ::open(file.c_str(), flags);
  if (file.native().find('\0') != std::string::npos) return errno = EINVAL, -1;
  const auto path = plain(file);
  for (const auto& root : *allowed)
    for (const auto& name : root.names)
      if (const auto rest = below(path, name); !rest.empty())
        return open_beneath(root.folder->get(), rest, flags);
  return errno = EXDEV, -1;
}

int stat_allowed(const fs::path& file, struct stat& found) {
  if (roots.load() == nullptr) return ::stat(file.c_str(), &found);
  const Closed open(open_allowed(file, O_PATH | O_CLOEXEC));
  return open.get() < 0 ? -1 : ::fstat(open.get(), &found);
}

bool exists(const fs::path& file) {
  struct stat s {};
  return stat_allowed(file, s) == 0;
}

bool is_folder(const fs::path& file) {
  struct stat s {};
  return stat_allowed(file, s) == 0 && S_ISDIR(s.st_mode);
}

std::uint64_t size_of(const fs::path& file) {
  struct stat s {};
  return stat_allowed(file, s) == 0 && S_ISREG(s.st_mode) ? static_cast<std::uint64_t>(s.st_size) : 0;
}

std::vector<FolderEntry> entries_of(const fs::path& folder, int& failed) {
  std::vector<FolderEntry> out;
  failed = 0;
  Closed open(open_allowed(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const list = open.get() < 0 ? nullptr : ::fdopendir(open.get());
  if (list == nullptr) return failed = errno, out;
  open.release();
  errno = 0;
  while (const auto* entry = ::readdir(list)) {  // NOLINT(concurrency-mt-unsafe): a stream of its own
    const std::string name = entry->d_name;
    struct stat s {};
    if (name == "." || name == "..") continue;
    const bool looked = ::fstatat(::dirfd(list), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0;
    out.push_back({name, looked && S_ISDIR(s.st_mode)});
    errno = 0;
  }
  failed = errno;
  ::closedir(list);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

}  // namespace mlsysim::files
