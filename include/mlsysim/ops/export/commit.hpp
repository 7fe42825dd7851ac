#pragma once
/// Commit and time of an export: the commit that results belong to, and the time stamp of their records.
///
/// Commit, first match: the given text, GIT_COMMIT, GITHUB_SHA or CI_COMMIT_SHA, the checked-out commit,
/// "unknown". Time, first match: the given nanoseconds, SOURCE_DATE_EPOCH, the clock [ns since 1970]. The
/// checked-out commit is read from the .git folder, in the given folder or above it. Git is not started.
/// Example: GIT_COMMIT=abc and no given text: `find_commit` returns {"abc", "environment, GIT_COMMIT"}.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace mlsysim {

/// A commit and its origin: "given", an environment variable, a git folder, or "default".
struct FoundCommit {
  std::string commit, from;
};
/// The commit of the search order above, with its origin.
[[nodiscard]] FoundCommit find_commit(std::string_view given, const std::filesystem::path& folder);
/// The commit of the search order above.
[[nodiscard]] std::string current_commit(std::string_view given, const std::filesystem::path& folder);
/// The time of the search order above [ns since 1970]. @throws InputError for a text that is no whole number
[[nodiscard]] std::uint64_t time_given(std::string_view given);

}  // namespace mlsysim
