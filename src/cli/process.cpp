// The process around a command: its streams, signals and terminal.

#include "output.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

namespace mlsysim::cli {
namespace {

CancelToken interrupted;
std::atomic<bool> listens{false};

extern "C" void on_interrupt(int) {
  if (listens && !interrupted.requested()) {
    interrupted.cancel();
    return;
  }
  constexpr std::string_view text = "mlsysim: interrupted\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  _exit(static_cast<int>(Exit::interrupted));
}

/// 0, or the errno that stopped the writing.
int write_all(int stream, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(stream, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int answers = STDOUT_FILENO;
thread_local bool memory_was_short = false;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

InterruptScope::InterruptScope() { listens = true; }
InterruptScope::~InterruptScope() { listens = false; }
const CancelToken& InterruptScope::token() { return interrupted; }

void say_no_memory() noexcept {
  constexpr std::string_view text = "mlsysim: error: there is not enough memory for this\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

void prepare_process() {
#if defined(__GLIBC__)
  // A tape is recorded more than once: its pages are kept instead of given back and cleared again.
  (void)::mallopt(M_MMAP_THRESHOLD, 8 << 20);
  (void)::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  (void)::mallopt(M_TOP_PAD, 1 << 20);
#endif
  // Libraries that we use end the process where they have no memory in a place that may not throw; what was
  // thrown there is not always to be had any more, so that memory was short is noted.
  std::set_new_handler([] {
    memory_was_short = true;
    throw std::bad_alloc();
  });
  std::set_terminate([] {
    bool no_memory = !std::current_exception() && std::uncaught_exceptions() > 0 && memory_was_short;
    try {
      if (std::current_exception()) std::rethrow_exception(std::current_exception());
    } catch (const std::bad_alloc&) {
      no_memory = true;
    } catch (...) {  // NOLINT(bugprone-empty-catch): it ends as it would
    }
    if (!no_memory) std::abort();
    say_no_memory();
    _exit(static_cast<int>(Exit::bad_input));
  });
  // The failed write reports the name of its file, so these signals must not end the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGINT, on_interrupt);
}

namespace {

/// mpirun gives its ranks a terminal of its own, wherever their output goes in the end.
bool writes_to_mpirun() { return !variable("OMPI_COMM_WORLD_RANK").empty() || !variable("PMI_RANK").empty(); }

}  // namespace

Colour colour_of_stdout() {
  if (!variable("NO_COLOR").empty() || variable("TERM") == "dumb" || writes_to_mpirun()) return Colour::off;
  return ::isatty(STDOUT_FILENO) != 0 ? Colour::on : Colour::off;
}

std::size_t columns_of_stdout() {
  winsize size{};
  return writes_to_mpirun() || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ? 0 : size.ws_col;
}

std::size_t width_of_stdout() {
  const auto columns = columns_of_stdout();
  return columns == 0 ? RenderOptions{}.width : std::clamp<std::size_t>(columns, 60, 120);
}

void keep_answer_apart() {
  if (answers != STDOUT_FILENO) return;
  const int own = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
  if (own < 0) return;  // stdout is closed: nobody reads the answer
  answers = own;
  (void)::dup2(STDERR_FILENO, STDOUT_FILENO);
}
int answer_stream() { return answers; }

int put(const Answer& answer) {
  const int failed = write_all(answers, answer.payload);
  (void)write_all(STDERR_FILENO, printable(answer.diagnostics));
  if (answers !=
      STDOUT_FILENO) {  // what plugins printed and nobody has seen yet still goes beside the answer
    (void)std::fflush(stdout);
    (void)::dup2(answers, STDOUT_FILENO);
    ::close(std::exchange(answers, STDOUT_FILENO));
  }
  if (failed != 0 && failed != EPIPE) {
    (void)write_all(STDERR_FILENO,
                    fmt::format("mlsysim: error: the answer cannot be written: {}\n", std::strerror(failed)));
    return static_cast<int>(Exit::bad_input);
  }
  return static_cast<int>(answer.exit);
}

}  // namespace mlsysim::cli
