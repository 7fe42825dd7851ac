#pragma once
/// FNV-1a, the 64-bit hash of texts. It gives one value on every machine and offers no security.
///
///   hash = (hash xor byte) 1099511628211 mod 2^64,  from 14695981039346656037, for each byte
///
/// Example: `fnv1a("a")` is 0xaf63dc4c8601ec8c.

#include <cstdint>
#include <string_view>

namespace mlsysim::detail {

inline constexpr std::uint64_t kFnvStart = 14695981039346656037ULL;

/// The hash of a text with hash `before` and one more byte.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::uint64_t before, unsigned char byte) {
  return (before ^ byte) * 1099511628211ULL;
}
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t before = kFnvStart) {
  for (const char c : text) before = fnv1a(before, static_cast<unsigned char>(c));
  return before;
}

}  // namespace mlsysim::detail
