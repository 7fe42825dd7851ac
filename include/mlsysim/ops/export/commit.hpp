#pragma once
/// The commit and the time that an export is about.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace mlsysim {

/// A commit, and who named it: "given", a variable of the environment, a folder of git, or "default".
struct FoundCommit {
  std::string commit, from;
};
/// As `current_commit`, with who named it.
[[nodiscard]] FoundCommit find_commit(std::string_view given, const std::filesystem::path& folder);
/// Returns the given commit, else GIT_COMMIT, GITHUB_SHA or CI_COMMIT_SHA, else the commit that is checked
/// out in the folder or above it, else "unknown". Does not start git.
[[nodiscard]] std::string current_commit(std::string_view given, const std::filesystem::path& folder);
/// The time that was given, that of SOURCE_DATE_EPOCH, or now [ns since 1970]. @throws InputError
[[nodiscard]] std::uint64_t time_given(std::string_view given);

}  // namespace mlsysim
