#include "closed.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/passing.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace mlsysim::files {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const fs::path& file, int why) {
  throw InputError(
      "mlsysim.files.004", "a file cannot be written", file.generic_string(),
      fmt::format("'{}', {}", file.generic_string(), std::strerror(why)), "a place that may be written to",
      why == ENOSPC || why == EDQUOT ? "make room on the disk" : "check the folder and its permissions",
      {file.generic_string()});
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// Makes a name that was just given last through a loss of power; some file systems cannot, and that is no
/// error.
void settle_folder(const fs::path& file) {
  const Closed folder(::open(folder_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) (void)::fsync(folder.get());
}

/// A new file beside another, under a name that nobody has.
struct Beside {
  fs::path path;
  int file = -1;
};
Beside new_beside(const fs::path& target, std::uint32_t mode) {
  for (unsigned i = 0; i < 1000; ++i) {
    fs::path path = target;
    path += fmt::format(".{}.{}.part", ::getpid(), i);
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (file >= 0) return {std::move(path), file};
    if (errno != EEXIST) cannot_write(target, errno);
  }
  cannot_write(target, EEXIST);
}

/// Permissions of what is replaced stay, but for a file that is to be private.
void keep_mode(int file, const fs::path& target, const WriteHow& how) {
  struct stat s {};
  if (::lstat(target.c_str(), &s) == 0 && S_ISREG(s.st_mode))
    (void)::fchmod(file, s.st_mode & how.mode & 07777U);
}

/// Gives a finished file its name. A name that was free must be so still.
int put_in_place(const fs::path& beside, const fs::path& file) {
  struct stat s {};
  const bool there = ::lstat(file.c_str(), &s) == 0;
  if (!there) {
    if (::renameat2(AT_FDCWD, beside.c_str(), AT_FDCWD, file.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;  // where the file system knows no such renaming
  }
  return ::rename(beside.c_str(), file.c_str()) == 0 ? 0 : errno;
}

}  // namespace

void check_target(const fs::path& file, const WriteHow& how) {
  if (file.empty() || !file.has_filename())
    throw InputError("mlsysim.files.002", "this names no file", file.generic_string(),
                     fmt::format("'{}'", file.generic_string()), "the name of a file",
                     "add the name of the file", {file.generic_string()});
  struct stat s {};
  if (::lstat(file.c_str(), &s) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) cannot_write(file, errno);
    std::error_code none;
    if (!fs::is_directory(folder_of(file), none))
      throw InputError("mlsysim.files.006", "a file needs a folder that is there", file.generic_string(),
                       fmt::format("'{}'", file.generic_string()),
                       fmt::format("a folder '{}'", folder_of(file).generic_string()),
                       "make the folder, or choose another", {file.generic_string()});
    return;
  }
  if (const auto kind = irregular(file, false); !kind.empty())
    throw InputError("mlsysim.files.007", "what is there is no file that can be replaced",
                     file.generic_string(), fmt::format("'{}', {}", file.generic_string(), kind),
                     "a regular file, or a name that is free",
                     S_ISLNK(s.st_mode) ? "name the file that it leads to" : "choose another name",
                     {file.generic_string()});
  if (how.replace == Replace::any) return;
  if (!how.mark.empty()) {
    const Closed open(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    std::string head(4096, '\0');
    const auto n = open.get() < 0 ? -1 : ::read(open.get(), head.data(), head.size());
    head.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    if (n == 0 || head.find(how.mark) != std::string::npos || (!how.nothing.empty() && head == how.nothing))
      return;
  }
  throw InputError("mlsysim.files.003", "the file exists", file.generic_string(),
                   fmt::format("'{}'{}", file.generic_string(),
                               how.mark.empty() ? "" : ", which this program did not write"),
                   "a new file", fmt::format("choose another name, or add {}", how.forced),
                   {file.generic_string()});
}

int put(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

namespace {

/// Whether what is written outlasts a loss of power.
enum class Durable : std::uint8_t { yes, no };

void write_file(const fs::path& file, std::string_view bytes, const WriteHow& how, Durable durable) {
  check_target(file, how);
  const Beside beside = new_beside(file, how.mode);
  Closed open(beside.file);
  keep_mode(beside.file, file, how);
  int why = put(beside.file, bytes);
  if (why == 0 && durable == Durable::yes && ::fsync(beside.file) != 0) why = errno;
  if (::close(open.release()) != 0 && why == 0) why = errno;
  if (why == 0) why = put_in_place(beside.path, file);
  if (why != 0) {
    ::unlink(beside.path.c_str());
    cannot_write(file, why);
  }
  if (durable == Durable::yes) settle_folder(file);
}

int begin_file(const fs::path& file, const WriteHow& how, Durable durable) {
  check_target(file, how);
  const Beside beside = new_beside(file, how.mode);
  keep_mode(beside.file, file, how);
  // An empty file of another identity replaces the old file, so that the old file's hard links keep their
  // content.
  if (const int why = put_in_place(beside.path, file); why != 0) {
    ::close(beside.file);
    ::unlink(beside.path.c_str());
    cannot_write(file, why);
  }
  if (durable == Durable::yes) settle_folder(file);
  return beside.file;
}

}  // namespace

void write(const fs::path& file, std::string_view bytes, const WriteHow& how) {
  write_file(file, bytes, how, Durable::yes);
}
void write_passing(const fs::path& file, std::string_view bytes, const WriteHow& how) {
  write_file(file, bytes, how, Durable::no);
}
int begin(const fs::path& file, const WriteHow& how) { return begin_file(file, how, Durable::yes); }
int begin_passing(const fs::path& file, const WriteHow& how) { return begin_file(file, how, Durable::no); }

int go_on(const fs::path& file, std::uint64_t bytes) {
  Closed open(::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (open.get() < 0) cannot_write(file, errno);
  struct stat s {};
  if (::fstat(open.get(), &s) != 0 || !S_ISREG(s.st_mode) || static_cast<std::uint64_t>(s.st_size) < bytes)
    throw InputError("mlsysim.files.008", "there is no file to go on with", file.generic_string(),
                     fmt::format("'{}'", file.generic_string()),
                     fmt::format("a regular file of at least {} bytes", bytes),
                     "name the file of the run before", {file.generic_string()});
  if (::ftruncate(open.get(), static_cast<off_t>(bytes)) != 0 || ::lseek(open.get(), 0, SEEK_END) < 0)
    cannot_write(file, errno);
  return open.release();
}

Lock::Lock(const fs::path& file) : path_(file) {
  path_ += ".lock";
  for (;;) {
    Closed open(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (open.get() < 0) cannot_write(path_, errno);
    if (::flock(open.get(), LOCK_EX | LOCK_NB) != 0) {
      std::string holder(32, '\0');
      const auto n = ::pread(open.get(), holder.data(), holder.size(), 0);
      holder.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
      throw InputError("mlsysim.files.005", "another process works on this file", file.generic_string(),
                       fmt::format("'{}', {}", file.generic_string(),
                                   holder.empty() ? "locked" : fmt::format("locked by process {}", holder)),
                       "one process at a time", "wait until it ends, or name another file",
                       {file.generic_string()});
    }
    // Its last holder may have removed it between the two calls; then the lock is of a file without a name.
    struct stat mine {
    }, there{};
    if (::fstat(open.get(), &mine) != 0 || ::lstat(path_.c_str(), &there) != 0 ||
        mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
      continue;
    const auto who = std::to_string(::getpid());
    int why = ::ftruncate(open.get(), 0) != 0 ? errno : 0;
    if (why == 0) why = put(open.get(), who);
    if (why != 0) {
      ::unlink(path_.c_str());
      cannot_write(path_, why);
    }
    file_ = open.release();
    return;
  }
}

Lock::~Lock() {
  ::unlink(path_.c_str());
  ::close(file_);
}

}  // namespace mlsysim::files
