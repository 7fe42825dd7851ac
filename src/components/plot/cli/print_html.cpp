// Pages on paper, by a program that prints.

#include "cli/child_process.hpp"
#include "cli/output.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/units/error.hpp>

#include <filesystem>

namespace mlsysim::cli {

void print_html(const std::string& html, const std::string& plain, const std::string& file) {
  const auto page = file + ".html";
  const files::WriteHow how{.replace = files::Replace::own, .mark = "mlsysim"};
  files::write(page, html, how);
  const auto from = std::filesystem::absolute(page).string(), to = std::filesystem::absolute(file).string();
  bool printed = false;
  for (const char* browser : {"chromium", "chromium-browser", "google-chrome"})
    printed = printed || (run_child({browser, "--headless", "--no-sandbox", "--disable-gpu",
                                     "--no-pdf-header-footer", "--print-to-pdf=" + to, "file://" + from})
                                  .status == 0 &&
                          std::filesystem::exists(to));
  if (!printed) {
    files::write(page, plain, how);
    printed = run_child({"weasyprint", from, to}).status == 0;
  }
  std::filesystem::remove(page);
  if (!printed)
    throw SolverError({.id = "mlsysim.cli.126",
                       .message = "nothing here prints a page",
                       .found = "neither weasyprint nor Chromium",
                       .expected = "one of them",
                       .hint = "pip install weasyprint, or write FILE.html and print it from a browser"});
}

}  // namespace mlsysim::cli
