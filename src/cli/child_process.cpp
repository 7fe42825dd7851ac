#include "child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>

namespace mlsysim::cli {
namespace {

/// Both ends of a pipe, which close with it.
struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() { (void)::pipe2(ends.data(), O_CLOEXEC); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(std::size_t which) {
    if (ends[which] >= 0) ::close(ends[which]);
    ends[which] = -1;
  }
  /// Takes what is there. @return whether more may come
  bool take(std::string& into) {
    std::array<char, 4096> piece{};
    const auto n = ::read(ends[0], piece.data(), piece.size());
    if (n > 0) into.append(piece.data(), static_cast<std::size_t>(n));
    if (n > 0 || (n < 0 && errno == EINTR)) return true;
    close_end(0);
    return false;
  }
};

}  // namespace

Ended ended_of(pid_t child) {
  Ended ended;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 126;
  return ended;
}

Ended run_child(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  Pipe out, err;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return {.status = 127};
  Ended ended;
  out.close_end(1);
  err.close_end(1);
  bool more_out = true, more_err = true;
  while (more_out || more_err) {  // a closed end is -1, which poll leaves out
    std::array<pollfd, 2> wait{{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
    if (::poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) break;
    if (more_out && wait[0].revents != 0) more_out = out.take(ended.out);
    if (more_err && wait[1].revents != 0) more_err = err.take(ended.err);
  }
  const auto how = ended_of(child);
  ended.status = how.status;
  ended.signal = how.signal;
  return ended;
}

}  // namespace mlsysim::cli
