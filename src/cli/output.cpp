#include "output.hpp"

#include <mlsysim/units/error.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string_view>
#include <utility>

namespace mlsysim::cli {
namespace {

extern "C" void on_interrupt(int) { _exit(static_cast<int>(Exit::interrupted)); }

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

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

void say_no_memory() noexcept {
  constexpr std::string_view text = "mlsysim: error: there is not enough memory for this\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

void prepare_process() {
  // Libraries that we use end the process where they have no memory in a place that may not throw.
  std::set_terminate([] {
    try {
      if (std::current_exception()) std::rethrow_exception(std::current_exception());
    } catch (const std::bad_alloc&) {
      say_no_memory();
      _exit(static_cast<int>(Exit::bad_input));
    } catch (...) {  // NOLINT(bugprone-empty-catch): it ends as it would
    }
    std::abort();
  });
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, on_interrupt);
}

Colour colour_of_stdout() {
  if (!variable("NO_COLOR").empty() || variable("TERM") == "dumb") return Colour::off;
  return ::isatty(STDOUT_FILENO) != 0 ? Colour::on : Colour::off;
}

std::size_t width_of_stdout() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return RenderOptions{}.width;
  return std::clamp<std::size_t>(size.ws_col, 60, 120);
}

void add_zoo_paths(const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  for (const auto& path : paths) {
    std::error_code failed;
    if (!std::filesystem::exists(path, failed))
      throw InputError({.id = "mlsysim.cli.040",
                        .message = "there is nothing at a path of --zoo",
                        .key = "--zoo",
                        .found = fmt::format("'{}'", path),
                        .expected = "a YAML file or a folder with some",
                        .hint = "check the path"});
  }
  name_zoo_paths(paths);
}

std::string printable(std::string_view text, Colour colours) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == 0x1b && colours == Colour::on && text.substr(i).starts_with("\x1b[")) {
      const auto end = text.find_first_not_of("0123456789;", i + 2);
      if (end != std::string_view::npos && text[end] == 'm') {
        out += text.substr(i, end + 1 - i);
        i = end;
        continue;
      }
    }
    // The second half of the control characters, U+0080 to U+009F, is C2 80 to C2 9F in UTF-8.
    const bool high = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (high)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
      out += fmt::format("\\x{:02x}", c);
    else
      out += text[i];
  }
  return out;
}

std::string error_text(const std::exception& error) {
  if (const auto* list = dynamic_cast<const ErrorList*>(&error); list != nullptr) {
    const auto& title = list->facts().message;
    auto text = fmt::format("mlsysim: error: {}\n", title.substr(0, title.find('\n')));
    for (const auto& problem : list->problems()) text += render(problem) + "\n";
    return text;
  }
  if (dynamic_cast<const Error*>(&error) != nullptr) return fmt::format("mlsysim: error: {}\n", error.what());
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return "mlsysim: error: there is not enough memory for this\n";  // the words of say_no_memory()
  return fmt::format("mlsysim: error: unexpected: {}; please report it with the command line\n",
                     error.what());
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
