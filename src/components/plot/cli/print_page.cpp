// Pages on paper, by a program that prints.

#include "cli/command_picture.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/plot/report_page.hpp>
#include <mlsysim/units/error.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <filesystem>

namespace mlsysim::cli {
namespace {

/// Runs a program without a shell. @return its exit code; 127 where there is none of that name
int run_quietly(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, arguments[0], &quiet, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  if (failed != 0) return 127;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

}  // namespace

// Chromium draws MathML; weasyprint does not, and gets the derivations as text.
void print_page(const ReportPage& page, const std::string& file) {
  const auto html = file + ".html";
  const files::WriteHow how{.replace = files::Replace::own, .mark = "mlsysim"};
  files::write(html, to_html(page), how);
  const auto absolute = std::filesystem::absolute(html).string(),
             to = std::filesystem::absolute(file).string();
  bool printed = false;
  for (const char* browser : {"chromium", "chromium-browser", "google-chrome"})
    printed = printed ||
              (run_quietly({browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
                            "--print-to-pdf=" + to, "file://" + absolute}) == 0 &&
               std::filesystem::exists(to));
  if (!printed) {
    auto plain = page;
    for (auto& part : plain.parts)
      for (auto& detail : part.details) detail.html.clear();
    files::write(html, to_html(plain), how);
    printed = run_quietly({"weasyprint", absolute, to}) == 0;
  }
  std::filesystem::remove(html);
  if (!printed)
    throw SolverError({.id = "mlsysim.cli.126",
                       .message = "nothing here prints a page",
                       .found = "neither weasyprint nor Chromium",
                       .expected = "one of them",
                       .hint = "pip install weasyprint, or write FILE.html and print it from a browser"});
}

}  // namespace mlsysim::cli
