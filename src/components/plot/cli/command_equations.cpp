// Derivations as LaTeX, and the pages of resolvers: their equations are typeset.

#include "cli/command_resolver.hpp"
#include "cli/output.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/folders.hpp>
#include <mlsysim/plot/explanation_forms.hpp>
#include <mlsysim/plot/resolver_page.hpp>
#include <mlsysim/resolver_api/registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace mlsysim::cli {

std::string latex_of(const Explanation& explanation, Verbosity verbosity) {
  return to_latex(explanation, verbosity);
}

Answer resolver_docs(const std::string& name, const std::string& write, const std::string& check) {
  const auto& shipped = zoo();
  if (!name.empty()) return {resolver_page(ResolverRegistry::standard().at(name), shipped)};
  const auto pages = resolver_pages(shipped);
  if (write.empty() && check.empty()) {
    std::string all;
    for (const auto& page : pages) all += page.file + "\n";
    return {std::move(all)};
  }
  const std::filesystem::path folder = write.empty() ? check : write;
  std::string stale;
  for (const auto& page : pages) {
    const auto path = folder / page.file;
    if (files::try_read(path).bytes == page.text) continue;
    stale += path.generic_string() + "\n";
    if (write.empty()) continue;
    files::make_folders(folder);
    files::write(path, page.text,
                 {.mark = "Written by `mlsysim resolver docs --write", .forced = "another folder"});
  }
  if (!write.empty())
    return {fmt::format("{} pages in {}, {} of them new or changed\n", pages.size(), folder.generic_string(),
                        std::count(stale.begin(), stale.end(), '\n'))};
  if (stale.empty()) return {fmt::format("{} pages are current\n", pages.size())};
  return {
      "",
      fmt::format("mlsysim: these pages are not current:\n{}write them: mlsysim resolver docs --write {}\n",
                  stale, folder.generic_string()),
      Exit::bad_input};
}

}  // namespace mlsysim::cli
