#include "run_shown.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>
#include <csignal>

namespace mlsysim::cli {
namespace {

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

}  // namespace mlsysim::cli
