#pragma once
/// Short names of long texts: fingerprints of labels, traces and findings.

#include <cstdint>
#include <string_view>

namespace mlsysim::detail {

/// The steps of FNV-1a from a start of our own: what is told to servers keeps its name from run to run.
[[nodiscard]] constexpr std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace mlsysim::detail
