// The BibTeX entry of `report --cite`.
#include <mlsysim/version.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>

#if __has_include("mlsysim_commit.inc")
#include "mlsysim_commit.inc"  // cmake/write_commit.cmake
#else
constexpr char kCommit[] = "";
constexpr char kCommitDate[] = "";
#endif

namespace mlsysim::cli {

std::string citation();  // for program_picture.cpp

std::string citation() {
  const std::string_view commit = kCommit;
  const std::string_view date = kCommitDate;
  const auto of_commit = commit.empty() ? std::string("Give the commit of the sources: git rev-parse HEAD")
                                        : fmt::format("Commit {}", commit);
  return fmt::format(
      "@software{{mlsysim,\n"
      "  author  = {{{{The mlsysim authors}}}},\n"
      "  title   = {{mlsysim: closed-form prediction of machine-learning systems}},\n"
      "  version = {{{}}},\n"
      "{}"
      "  license = {{Apache-2.0}},\n"
      "  note    = {{{}}}\n"
      "}}\n",
      version_text,
      date.empty() ? std::string("  year    = {2026},\n")
                   : fmt::format("  date    = {{{}}},\n  year    = {{{}}},\n", date, date.substr(0, 4)),
      of_commit);
}

}  // namespace mlsysim::cli
