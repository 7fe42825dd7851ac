#include <mlsysim/ops/export/commit.hpp>

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdlib>

namespace mlsysim {
namespace {

constexpr std::uint64_t kLargestRefs = 64U << 20;  // [B] of packed-refs

std::string first_line(const std::filesystem::path& file) {
  auto bytes = files::try_read(file, kLargestRefs).bytes;
  return bytes.substr(0, bytes.find('\n'));
}

/// The hash of a reference: a file of its own, or a line of packed-refs.
std::string hash_of(const std::filesystem::path& git, const std::string& reference) {
  if (auto hash = first_line(git / reference); !hash.empty()) return hash;
  const auto packed = files::try_read(git / "packed-refs", kLargestRefs).bytes;
  const auto at = packed.find(" " + reference + "\n");
  if (at == std::string::npos) return {};
  const auto from = packed.rfind('\n', at);
  return packed.substr(from == std::string::npos ? 0 : from + 1,
                       at - (from == std::string::npos ? 0 : from + 1));
}

std::string checked_out(const std::filesystem::path& git) {
  auto head = first_line(git / "HEAD");
  if (!head.starts_with("ref: ")) return head;
  const auto reference = head.substr(5);
  if (auto hash = hash_of(git, reference); !hash.empty()) return hash;
  // A further working tree keeps its references with the first one.
  const auto common = first_line(git / "commondir");
  return common.empty() ? std::string() : hash_of(git / common, reference);
}

std::uint64_t whole(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (bad != std::errc{} || end != text.data() + text.size())
    throw InputError("mlsysim.telemetry.008", "a time cannot be read", "",
                     fmt::format("'{}'", text.substr(0, 40)), "a whole number", "count from 1970");
  return out;
}

}  // namespace

FoundCommit find_commit(std::string_view given, const std::filesystem::path& folder) {
  if (!given.empty()) return {std::string(given), "given"};
  for (const char* name : {"GIT_COMMIT", "GITHUB_SHA", "CI_COMMIT_SHA"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
      return {value, fmt::format("environment, {}", name)};
  std::error_code none;
  for (auto at = std::filesystem::absolute(folder, none); !at.empty(); at = at.parent_path()) {
    auto git = at / ".git";
    if (const auto link = first_line(git); link.starts_with("gitdir: ")) git = at / link.substr(8);
    if (auto commit = checked_out(git); !commit.empty()) return {commit, "git, " + git.string()};
    if (at == at.parent_path()) break;
  }
  return {"unknown", "default"};
}

std::string current_commit(std::string_view given, const std::filesystem::path& folder) {
  return find_commit(given, folder).commit;
}

std::uint64_t time_given(std::string_view given) {
  if (!given.empty()) return whole(given);
  if (const char* epoch = std::getenv("SOURCE_DATE_EPOCH")) return whole(epoch) * 1'000'000'000;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace mlsysim
