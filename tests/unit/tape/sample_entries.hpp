#pragma once
/// The sample laws as entries, compiled once, and points to try them at.

#include <mlsysim/tape/law_entry.hpp>
#include <mlsysim/tape/registry.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sample {

/// One of the five sample laws, and boxes of inputs within which it is tried.
struct Case {
  const mlsysim::LawEntry* law;
  std::vector<double> low, high;  ///< canonical base units
  std::vector<bool> counts;       ///< inputs that are whole numbers
};

[[nodiscard]] const std::vector<Case>& cases();
[[nodiscard]] inline const mlsysim::LawEntry& law(std::size_t i) { return *cases()[i].law; }
[[nodiscard]] const mlsysim::LawEntry& plain_server();
/// A point inside the box of a case; the same for the same index.
[[nodiscard]] std::vector<double> point(const Case& c, unsigned index);
[[nodiscard]] inline std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

}  // namespace sample
