#pragma once
/// FNV-1a, the one hash of texts: quick, the same on every machine, and no protection against anybody.

#include <cstdint>
#include <string_view>

namespace mlsysim::detail {

inline constexpr std::uint64_t kFnvStart = 14695981039346656037ULL;

/// The hash of what came before and one byte more.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::uint64_t before, unsigned char byte) {
  return (before ^ byte) * 1099511628211ULL;
}
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t before = kFnvStart) {
  for (const char c : text) before = fnv1a(before, static_cast<unsigned char>(c));
  return before;
}

}  // namespace mlsysim::detail
