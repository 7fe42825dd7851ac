#include "detail/ownership.hpp"

#include "detail/discovery.hpp"
#include "detail/services.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>

namespace mlsysim::plugin::detail {
namespace {

namespace fs = std::filesystem;

/// Resources that this process holds. One lock guards them and the lock files: POSIX drops a lock when the
/// process closes the file anywhere, so a file that is held here must not be opened.
struct Held {
  std::mutex mutex;
  std::map<std::string, Holder> by_resource;
};
Held& held() {
  static auto& all = *new Held;  // instances may end after static objects
  return all;
}

/// Lock files are for all users of the machine, so they lie where all can write.
fs::path lock_folder() {
  if (const char* named = std::getenv("MLSYSIM_LOCK_DIR"); named != nullptr && *named != 0 && !is_secure())
    return named;
  return ::access("/run/lock", W_OK) == 0 ? "/run/lock" : "/tmp";
}
fs::path lock_file(const std::string& resource) {
  return lock_folder() / fmt::format("mlsysim-{}.lock", resource);
}

struct flock whole_file(short type) {
  struct flock l {};
  l.l_type = type;
  l.l_whence = SEEK_SET;
  return l;
}

/// Reads the text that the holder wrote: "<pid> <resolver> <since>".
Holder read_holder(int file, long pid) {
  std::array<char, 512> buffer;
  const auto n = ::pread(file, buffer.data(), buffer.size(), 0);
  const std::string_view text(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  Holder out{pid, {}, {}};
  const auto one = text.find(' '), two = text.find(' ', one + 1), end = text.find('\n');
  // Not yet written, or written by an earlier holder: the pid is that of the lock.
  if (end == std::string_view::npos || two >= end || text.substr(0, one) != std::to_string(pid)) return out;
  out.resolver = text.substr(one + 1, two - one - 1);
  out.since = text.substr(two + 1, end - two - 1);
  return out;
}

/// The holder of a lock file in another process.
std::optional<Holder> holder_of_file(int file) {
  auto question = whole_file(F_WRLCK);
  if (::fcntl(file, F_GETLK, &question) != 0 || question.l_type == F_UNLCK) return std::nullopt;
  return read_holder(file, question.l_pid);
}

/// Opens a lock file, and makes it where there is none. The system may refuse O_CREAT for a file of somebody
/// else's in a shared folder, so what exists is opened without it.
int open_lock(const fs::path& path) {
  for (int i = 0; i < 3; ++i) {
    int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file >= 0 || errno != ENOENT) return file;
    file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file >= 0) {
      (void)::fchmod(file, 0666);  // whatever the umask: the next holder may be another user
      return file;
    }
    if (errno != EEXIST) return -1;
  }
  return -1;
}

/// In a child of fork the map is that of the parent.
const Holder* here(const std::string& resource) {
  const auto found = held().by_resource.find(resource);
  return found == held().by_resource.end() || found->second.pid != ::getpid() ? nullptr : &found->second;
}

}  // namespace

void refuse_held(const ResolverDescription& r, const Holder& h) {
  fail(MLS_UNAVAILABLE,
       {.id = "mlsysim.plugin.120",
        .message =
            fmt::format("'{}' is held, and {} is {}", r.resource, r.name, mlsysim::name_of(r.ownership)),
        .key = r.resource,
        .found = fmt::format(
            "held by process {}{}{}{}", h.pid, h.pid == ::getpid() ? ", which is this one" : "",
            h.resolver.empty() ? "" : ", by " + h.resolver, h.since.empty() ? "" : ", since " + h.since),
        .expected = "nobody",
        .hint = h.pid == ::getpid() ? "one set of options at a time; unload the plugin to let go of it"
                                    : "wait for that process, or end it"},
       {}, "create of " + r.name);
}

std::optional<Holder> Hold::holder(const ResolverDescription& r) {
  if (r.ownership == Ownership::shared) return std::nullopt;
  const std::lock_guard lock(held().mutex);
  if (const auto* h = here(r.resource)) return *h;
  if (r.ownership != Ownership::exclusive_system) return std::nullopt;
  const int file = ::open(lock_file(r.resource).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return std::nullopt;
  auto out = holder_of_file(file);
  ::close(file);
  return out;
}

std::unique_ptr<Hold> Hold::take(const ResolverDescription& r) {
  const std::lock_guard lock(held().mutex);
  if (const auto* h = here(r.resource)) refuse_held(r, *h);
  int file = -1;
  const Holder me{::getpid(), fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr))),
                  r.name};
  if (r.ownership == Ownership::exclusive_system) {
    const auto path = lock_file(r.resource);
    file = open_lock(path);
    const auto give_up = [&](const char* what) {
      const std::string why = std::strerror(errno);
      if (file >= 0) ::close(file);
      fail(MLS_RESOURCE_EXHAUSTED,
           {.id = "mlsysim.plugin.121",
            .message = fmt::format("{} is {}, and its lock file '{}' cannot be {}", r.name,
                                   mlsysim::name_of(r.ownership), path.generic_string(), what),
            .key = path.generic_string(),
            .found = why,
            .expected = "a file that this process may lock",
            .hint = "name a folder in MLSYSIM_LOCK_DIR"},
           {}, "create of " + r.name);
    };
    if (file < 0) give_up("opened");
    for (auto wanted = whole_file(F_WRLCK); ::fcntl(file, F_SETLK, &wanted) != 0;) {
      if (errno != EACCES && errno != EAGAIN) give_up("locked");
      if (const auto other = holder_of_file(file)) {
        ::close(file);
        refuse_held(r, *other);
      }
      // It was let go between the two questions.
    }
    const auto text = fmt::format("{} {} {}\n", me.pid, me.resolver, me.since);
    if (::ftruncate(file, 0) != 0 ||
        ::pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      give_up("written");
  }
  held().by_resource[r.resource] = me;
  return std::unique_ptr<Hold>(new Hold(r.resource, file));
}

Hold::~Hold() {
  const std::lock_guard lock(held().mutex);
  if (here(resource_) != nullptr) held().by_resource.erase(resource_);
  // The file stays: removing it would let two processes lock two files of one name.
  if (file_ >= 0) ::close(file_);
}

}  // namespace mlsysim::plugin::detail
