#include "detail/notebook.hpp"

#include "detail/discovery.hpp"
#include "detail/elf.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/plugin/host.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace mlsysim::plugin::detail {

thread_local constinit Running::What Running::now{};

namespace {

namespace fs = std::filesystem;

fs::path cache_folder() {
  if (is_secure()) return {};
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "mlsysim/plugins";
  if (home != nullptr && *home == '/') return fs::path(home) / ".cache/mlsysim/plugins";
  return {};
}

constexpr std::array kFatal{SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
std::array<struct sigaction, kFatal.size()> handlers_before;
alignas(16) std::array<char, 1 << 16> handler_stack;

void say(int file, const char* text) { (void)!::write(file, text, std::strlen(text)); }

/// Names the plugin that ends the process, and notes it for later runs. Only calls that are safe in a
/// handler.
void tell_who_ended_it(const char* how) {
  const auto at = Running::now;
  if (at.library == nullptr) return;
  for (const char* part : {"mlsysim: error: the plugin '", at.library, "' ended the process ", how, " in ",
                           at.slot, "; from now on it runs in a process of its own\n"})
    say(STDERR_FILENO, part);
  if (at.page == nullptr || *at.page == 0) return;
  const int page = ::open(at.page, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (page < 0) return;
  for (const char* part : {NotebookPage::kEnded.data(), how, " in ", at.slot, "\n"}) say(page, part);
  ::close(page);
}

extern "C" void on_fatal_signal(int signal) {
  const char* name = ::sigabbrev_np(signal);
  std::array<char, 32> how{"by SIG"};
  if (name != nullptr) std::strncat(how.data(), name, how.size() - std::strlen(how.data()) - 1);
  tell_who_ended_it(how.data());
  Running::now = {};
  // The signal comes again when this returns, or is raised here, and then ends the process as it would have.
  for (std::size_t i = 0; i < kFatal.size(); ++i)
    if (kFatal[i] == signal) ::sigaction(signal, &handlers_before[i], nullptr);
  ::raise(signal);
}

}  // namespace

NotebookPage::NotebookPage(const fs::path& library) {
  const auto folder = cache_folder();
  struct stat s {};
  std::error_code failed;
  const auto real = fs::canonical(library, failed);
  if (folder.empty() || failed || ::stat(real.c_str(), &s) != 0) return;
  const auto identity = fmt::format("{}\n{} {} {} {} {}", real.string(), s.st_dev, s.st_ino, s.st_size,
                                    s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
  file_ = (folder / sha256(identity)).string();
  text_ = files::try_read(file_, 4096).bytes;
}

std::string NotebookPage::ended() const {
  if (!text_.starts_with(kEnded)) return {};
  return text_.substr(kEnded.size(), text_.find('\n') - kEnded.size());
}

void NotebookPage::note_ended(std::string_view how) const { write(fmt::format("{}{}\n", kEnded, how)); }

void NotebookPage::write(std::string_view text) const {
  if (file_.empty()) return;
  std::error_code failed;
  const auto folder = fs::path(file_).parent_path();
  if (fs::create_directories(folder, failed)) fs::permissions(folder, fs::perms::owner_all, failed);
  try {
    files::write(file_, text, {.replace = files::Replace::any, .mode = 0600});
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): without a cache every run tries again
  }
}

}  // namespace mlsysim::plugin::detail

namespace mlsysim::plugin {

void end_process(int status) {
  if (detail::Running::now.library != nullptr) {
    detail::tell_who_ended_it("by exit");
    status = 1;
  }
  ::syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

void name_crashes() {
  static const bool once = [] {
    using namespace detail;  // NOLINT: the private half of this room
    const stack_t stack{.ss_sp = handler_stack.data(), .ss_flags = 0, .ss_size = handler_stack.size()};
    stack_t other{};
    if (::sigaltstack(nullptr, &other) == 0 && (other.ss_flags & SS_DISABLE) != 0)
      (void)::sigaltstack(&stack, nullptr);
    struct sigaction handler {};
    handler.sa_handler = on_fatal_signal;
    handler.sa_flags = SA_ONSTACK | SA_NODEFER;
    for (std::size_t i = 0; i < kFatal.size(); ++i) ::sigaction(kFatal[i], &handler, &handlers_before[i]);
    // A library may also call exit, which must not look like success.
    (void)std::atexit([] {
      if (Running::now.library == nullptr) return;
      end_process(0);
    });
    return true;
  }();
  (void)once;
}

}  // namespace mlsysim::plugin
