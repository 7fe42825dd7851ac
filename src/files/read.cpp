#include "closed.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/roots.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sys/auxv.h>
#endif

namespace mlsysim::files {
namespace {

std::string_view kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return {};
    case S_IFDIR:
      return "a folder";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    case S_IFLNK:
      return "a link";
    default:
      return "something else";
  }
}

FileBytes fault(ReadFault kind, std::string found) { return {{}, kind, std::move(found)}; }
FileBytes failed(int why) {
  if (why == EXDEV) return fault(ReadFault::outside, "outside of the folders that may be read");
  return fault(why == ENOENT || why == ENOTDIR ? ReadFault::missing : ReadFault::unreadable,
               std::strerror(why));
}
FileBytes too_large(std::uint64_t bytes) {
  return fault(ReadFault::too_large, fmt::format("{:.4} MB", static_cast<double>(bytes) / 1e6));
}

/// Opens a regular file. It is looked at before it is opened, for opening a device may move it and opening a
/// pipe waits for its writer, and again afterwards, for it may be another one by then.
/// @param wrong why it is not open, where the descriptor is -1
Closed open_regular(const std::filesystem::path& file, struct stat& s, FileBytes& wrong) {
  const auto irregular = [&] {
    if (S_ISDIR(s.st_mode))
      wrong = fault(ReadFault::folder, "a folder");
    else if (const auto kind = kind_of(s.st_mode); !kind.empty())
      wrong = fault(ReadFault::irregular, std::string(kind));
    return wrong.fault != ReadFault::none;
  };
  if (stat_allowed(file, s) != 0)
    wrong = failed(errno);
  else if (!irregular()) {
    Closed open(open_allowed(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (open.get() < 0 || ::fstat(open.get(), &s) != 0)
      wrong = failed(errno);
    else if (!irregular())
      return Closed(open.release());
  }
  return Closed(-1);
}

/// Reads the rest of an open file; more than `most` bytes are a fault.
FileBytes rest_of(int file, std::uint64_t size, std::uint64_t most) {
  FileBytes out;
  // One byte more than it says: a file that grows, or that says 0 as those of the kernel do, goes on.
  constexpr std::uint64_t step = 1 << 16;
  for (std::uint64_t have = 0;;) {
    out.bytes.resize(have + std::min(most + 1 - have, std::max(size + 1 > have ? size + 1 - have : 0, step)));
    const auto n = ::read(file, out.bytes.data() + have, out.bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return fault(ReadFault::irregular, "something that would be waited for");
    if (n < 0) return failed(errno);
    have += static_cast<std::uint64_t>(n);
    if (have > most)
      return fault(ReadFault::too_large, fmt::format("more than {:.4} MB", static_cast<double>(most) / 1e6));
    if (n == 0) {
      out.bytes.resize(have);
      return out;
    }
  }
}

}  // namespace

bool secure() {
#if defined(__linux__)
  if (::getauxval(AT_SECURE) != 0) return true;
#endif
  const char* asked = std::getenv("MLSYSIM_SECURE");
  return asked != nullptr && std::string_view(asked) == "1";
}

std::string_view irregular(const std::filesystem::path& file, bool link) {
  struct stat s {};
  if ((link ? stat_allowed(file, s) : ::lstat(file.c_str(), &s)) != 0) return {};
  return kind_of(s.st_mode);
}

FileBytes try_read(const std::filesystem::path& file, std::uint64_t most) {
  struct stat s {};
  FileBytes wrong;
  const auto open = open_regular(file, s, wrong);
  if (open.get() < 0) return wrong;
  const auto size = static_cast<std::uint64_t>(s.st_size);
  return size > most ? too_large(size) : rest_of(open.get(), size, most);
}

std::string read_pieces(const std::filesystem::path& file, std::uint64_t bytes,
                        const std::function<void(std::string_view)>& take) {
  struct stat s {};
  FileBytes none;
  const auto open = open_regular(file, s, none);
  if (open.get() < 0) return none.found;
  std::string piece(std::min<std::uint64_t>(bytes, 1 << 20), '\0'), wrong;
  for (std::uint64_t left = bytes; left > 0 && wrong.empty();) {
    const auto n = ::read(open.get(), piece.data(), std::min<std::uint64_t>(left, piece.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      wrong = n < 0 ? std::strerror(errno) : fmt::format("{} bytes of {}", bytes - left, bytes);
    } else {
      take({piece.data(), static_cast<std::size_t>(n)});
      left -= static_cast<std::uint64_t>(n);
    }
  }
  return wrong;
}

std::string read(const std::filesystem::path& file, std::string_view expected, std::uint64_t most) {
  auto out = try_read(file, most);
  if (out.fault == ReadFault::none) return std::move(out.bytes);
  throw InputError({.id = "mlsysim.files.001",
                    .message = "a file cannot be read",
                    .key = file.generic_string(),
                    .found = fmt::format("'{}': {}", file.generic_string(), out.found),
                    .expected = out.fault == ReadFault::too_large
                                    ? fmt::format("{} of at most {} MiB", expected, most >> 20)
                                    : std::string(expected),
                    .hint = out.fault == ReadFault::irregular ? "write what it gives to a file first"
                            : out.fault == ReadFault::folder  ? "name one of the files in it"
                            : out.fault == ReadFault::outside
                                ? "whoever starts the server allows folders by --allow DIR"
                                : "check the path and the permissions",
                    .where = {.file = file.generic_string()}});
}

std::vector<std::filesystem::path> listed(const std::filesystem::path& folder, std::string_view ending) {
  std::vector<std::filesystem::path> out;
  int failed = 0;
  for (const auto& entry : entries_of(folder, failed))
    if (std::filesystem::path(entry.name).extension() == ending) out.push_back(folder / entry.name);
  if (failed)
    throw InputError({.id = "mlsysim.files.009",
                      .message = "a folder cannot be read",
                      .key = folder.generic_string(),
                      .found = fmt::format("'{}': {}", folder.generic_string(),
                                           failed == EXDEV ? "outside of the folders that may be read"
                                                           : std::strerror(failed)),
                      .expected = "a folder that may be listed",
                      .hint = "check the path and the permissions",
                      .where = {.file = folder.generic_string()}});
  return out;
}

}  // namespace mlsysim::files
