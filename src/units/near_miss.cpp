#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace mlsysim {
namespace {

/// Names are shorter: of a longer text no part is compared, so that a text costs no more than its length.
constexpr std::size_t kLongestName = 64;

/// Letters and digits only, lower case: 'Llama-3.1_8B' and 'llama31 8b' are the same name to a typist.
std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

}  // namespace

int edit_distance(std::string_view left, std::string_view right) {
  const std::string a = folded(left), b = folded(right);
  const std::size_t width = b.size() + 1;
  // Three rows are enough for the distance with swaps of neighbors (optimal string alignment).
  std::vector<int> before(width), last(width), row(width);
  for (std::size_t j = 0; j < width; ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j < width; ++j) {
      const int replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[width - 1];
}

std::vector<std::string> near_misses(std::string_view name, std::span<const std::string> candidates,
                                     std::size_t most) {
  if (name.size() > kLongestName) return {};
  struct Ranked {
    int distance;
    bool other_begin;  // people seldom miss the first letter
    const std::string* name;
  };
  const std::string wanted = folded(name);
  std::vector<Ranked> ranked;
  for (const auto& candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    const int distance = edit_distance(name, candidate);
    const std::string other = folded(candidate);
    const bool contains =
        wanted.size() >= 3 && other.size() >= 3 &&
        (other.find(wanted) != std::string::npos || wanted.find(other) != std::string::npos);
    const int limit = std::max(2, static_cast<int>(wanted.size() / 3));
    if ((distance <= limit && distance < static_cast<int>(std::max(wanted.size(), std::size_t{1}))) ||
        contains)
      ranked.push_back({distance, other.empty() || wanted.empty() || other[0] != wanted[0], &candidate});
  }
  std::ranges::stable_sort(ranked, {}, [](const Ranked& r) { return std::pair(r.distance, r.other_begin); });
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) out.push_back(*ranked[i].name);
  return out;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const auto near = near_misses(name, candidates);
  if (near.empty()) return {};
  std::string out = "did you mean ";
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (i > 0) out += i + 1 == near.size() ? " or " : ", ";
    out += "'" + near[i] + "'";
  }
  return out + "?";
}

ErrorFacts unknown_name(std::string id, std::string message, std::string_view name,
                        std::span<const std::string> known, std::string expected, Location where) {
  if (expected.empty()) expected = fmt::format("one of {}", fmt::join(known, ", "));
  return {.id = std::move(id),
          .message = std::move(message),
          .key = std::string(name),
          .found = fmt::format("'{}'", name),
          .expected = std::move(expected),
          .hint = did_you_mean(name, known),
          .where = std::move(where)};
}

}  // namespace mlsysim
