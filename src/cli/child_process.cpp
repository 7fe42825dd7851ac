#include "child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <csignal>

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

Ended ended_of(pid_t child) {
  Ended ended;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 126;
  return ended;
}

volatile std::sig_atomic_t shown = 0;  // process that runs in front of us

extern "C" void pass_on(int signal) { (void)::kill(static_cast<pid_t>(shown), signal); }

/// While it lives, SIGINT and SIGTERM go to the process that is shown, and wait until there is one.
class PassingOn {
 public:
  PassingOn() {
    sigemptyset(&passed_);
    for (const int s : {SIGINT, SIGTERM}) sigaddset(&passed_, s);
    (void)::pthread_sigmask(SIG_BLOCK, &passed_, &before_);
    struct sigaction action {};
    action.sa_handler = pass_on;
    (void)::sigaction(SIGINT, &action, &interrupt_);
    (void)::sigaction(SIGTERM, &action, &terminate_);
  }
  PassingOn(const PassingOn&) = delete;
  PassingOn& operator=(const PassingOn&) = delete;
  ~PassingOn() {
    (void)::pthread_sigmask(SIG_BLOCK, &passed_, nullptr);
    (void)::sigaction(SIGINT, &interrupt_, nullptr);
    (void)::sigaction(SIGTERM, &terminate_, nullptr);
    (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  void to(pid_t child) const {
    shown = static_cast<std::sig_atomic_t>(child);
    (void)::pthread_sigmask(SIG_UNBLOCK, &passed_, nullptr);
  }
  [[nodiscard]] const sigset_t& before() const { return before_; }
  [[nodiscard]] const sigset_t& passed() const { return passed_; }

 private:
  sigset_t passed_{}, before_{};
  struct sigaction interrupt_ {
  }, terminate_{};
};

}  // namespace

Ended run_shown(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const PassingOn passing;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&how, 0);
  posix_spawnattr_setsigmask(&how, &passing.before());
  posix_spawnattr_setsigdefault(&how, &passing.passed());
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, arguments[0], &files, &how, arguments.data(), environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return {.status = 127};
  passing.to(child);
  return ended_of(child);
}

Ended run_child(std::vector<std::string> words, Errors errors) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  Pipe out, err;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.ends[1], STDOUT_FILENO);
  if (errors == Errors::apart) posix_spawn_file_actions_adddup2(&files, err.ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  Ended ended;
  if (failed != 0) {
    ended.status = 127;
    return ended;
  }
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
