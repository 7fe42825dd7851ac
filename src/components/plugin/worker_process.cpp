#include "detail/worker_process.hpp"

#include "detail/discovery.hpp"

#include <fmt/format.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace mlsysim::plugin::detail {
namespace {

namespace fs = std::filesystem;

/// The program that opens isolated plugins.
fs::path worker_program() {
  std::vector<fs::path> looked_at;
  if (const char* named = std::getenv("MLSYSIM_PLUGIN_WORKER"); named != nullptr && !is_secure())
    looked_at.emplace_back(named);
  const auto around = [&](const fs::path& code) {
    std::error_code failed;
    const auto real = fs::canonical(code, failed);
    if (failed) return;
    for (const char* relative : {"mlsysim-plugin-worker", "../libexec/mlsysim/mlsysim-plugin-worker",
                                 "libexec/mlsysim-plugin-worker", "../../bin/mlsysim-plugin-worker"})
      looked_at.push_back((real.parent_path() / relative).lexically_normal());
  };
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&worker_program), &info) != 0 && info.dli_fname != nullptr)
    around(info.dli_fname);
  around("/proc/self/exe");
#ifdef MLSYSIM_PLUGIN_WORKER_INSTALLED
  looked_at.emplace_back(MLSYSIM_PLUGIN_WORKER_INSTALLED);
#endif
  for (const auto& path : looked_at)
    if (::access(path.c_str(), X_OK) == 0) return path;
  std::string all;
  for (const auto& path : looked_at) all += (all.empty() ? "" : ", ") + path.generic_string();
  fail(MLS_UNAVAILABLE, {.id = "mlsysim.plugin.110",
                         .message = "the program for isolated plugins is not found",
                         .key = "mlsysim-plugin-worker",
                         .found = "none of " + all,
                         .expected = "mlsysim-plugin-worker beside mlsysim",
                         .hint = is_secure() ? "install the whole package"
                                             : "install the whole package, or set MLSYSIM_PLUGIN_WORKER"});
}

std::string ending(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* name = ::sigabbrev_np(signal);
    return fmt::format("signal SIG{}{}", name == nullptr ? std::to_string(signal) : name,
                       signal == SIGKILL ? " (killed)" : "");
  }
  return fmt::format("exit with status {}", WEXITSTATUS(status));
}

[[noreturn]] void give_up(const char* what) {
  fail(MLS_RESOURCE_EXHAUSTED, {.id = "mlsysim.plugin.114",
                                .message = fmt::format("the system gives no {} for an isolated plugin", what),
                                .found = std::strerror(errno),
                                .expected = what});
}

}  // namespace

Child::Child(const std::string& library, const IsolationLimits& limits) {
  const auto program = worker_program();
  int sockets[2], output[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) give_up("a socket pair");
  if (::pipe2(output, O_CLOEXEC) != 0) {
    ::close(sockets[0]);
    ::close(sockets[1]);
    give_up("a pipe");
  }
  const auto memory = std::to_string(limits.memory), program_text = program.string();
  std::array<const char*, 4> words{program_text.c_str(), library.c_str(), memory.c_str(), nullptr};
  pid_ = ::fork();
  if (pid_ == 0) {
    // Only calls that are safe after fork: this process may have had other threads.
    ::setpgid(0, 0);  // what the plugin starts ends with it
    ::dup2(output[1], STDOUT_FILENO);
    ::dup2(output[1], STDERR_FILENO);
    if (sockets[1] == 3)
      ::fcntl(3, F_SETFD, 0);
    else
      ::dup2(sockets[1], 3);
    ::execv(words[0], const_cast<char* const*>(words.data()));
    ::_exit(127);
  }
  if (pid_ > 0) ::setpgid(pid_, pid_);  // whichever of the two comes first
  ::close(sockets[1]);
  ::close(output[1]);
  output_ = output[0];
  ::fcntl(output_, F_SETFL, O_NONBLOCK);
  channel_ = std::make_unique<Channel>(sockets[0]);
  if (pid_ < 0) give_up("a process");
}

Child::~Child() {
  channel_.reset();
  if (pid_ > 0) (void)stop();
  if (output_ >= 0) ::close(output_);
}

std::string Child::stop() {
  if (pid_ <= 0) return how_;
  int status = 0;
  // A process whose end of the socket is closed ends by itself; one that hangs is killed.
  for (int i = 0; i < 50; ++i) {
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      ::kill(-pid_, SIGKILL);  // what it has left behind
      pid_ = -1;
      return how_ = ending(status);
    }
    ::usleep(1000);
  }
  return kill();
}

std::string Child::kill() {
  if (pid_ <= 0) return how_;
  int status = 0;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return how_ = ending(status);
}

std::string Child::printed() {
  std::string out;
  std::array<char, 4096> buffer;
  while (out.size() < 1 << 20) {
    const auto n = ::read(output_, buffer.data(), buffer.size());
    if (n <= 0) break;
    out.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return out;
}

bool Child::wait(int descriptor, Clock::time_point deadline) const {
  std::array<pollfd, 2> wait{{{descriptor, POLLIN, 0}, {output_, POLLIN, 0}}};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  // A pipe whose writers closed it is always ready, so it is not waited for then.
  return ::poll(wait.data(), open_ ? 2 : 1,
                static_cast<int>(std::max<std::int64_t>(0, std::min<std::int64_t>(left + 1, 60000)))) >= 0;
}

bool Child::output_ended() const {
  pollfd p{output_, POLLIN, 0};
  return ::poll(&p, 1, 0) > 0 && (p.revents & POLLIN) == 0;
}

}  // namespace mlsysim::plugin::detail
