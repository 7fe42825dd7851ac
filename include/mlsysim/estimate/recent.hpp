#pragma once
/// A cache of the last few values, each kept with the numbers that it was computed from.
///
/// Searches and sums over passes ask for few distinct numbers again and again. The oldest entry is replaced.
/// While recording, two numbers are equal where they are one node of the tape.
///
/// Example: asked at 2, 2, 3, 2, a cache of one value computes 3 times and a cache of two values 2 times.

#include <mlsysim/timing/breakdown.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace mlsysim::detail {

/// Keeps the last `kept` values that were asked for at different numbers.
template <class Value, class T, std::size_t numbers, std::size_t kept = 1> class Recent {
 public:
  template <class F> [[nodiscard]] Value at(const std::array<T, numbers>& asked, F&& make) {
    for (const auto& entry : entries_)
      if (equal(entry.asked, asked)) return entry.value;
    Value value = make();
    if (entries_.size() < kept) {
      if (entries_.empty()) entries_.reserve(kept);
      entries_.push_back({asked, value});
    } else {
      entries_[oldest_] = {asked, value};
      oldest_ = (oldest_ + 1) % kept;
    }
    return value;
  }

 private:
  struct Entry {
    std::array<T, numbers> asked;
    Value value;
  };
  [[nodiscard]] static bool equal(const std::array<T, numbers>& a, const std::array<T, numbers>& b) {
    for (std::size_t i = 0; i < numbers; ++i)
      if (!same_number(a[i], b[i])) return false;
    return true;
  }

  std::vector<Entry> entries_;
  std::size_t oldest_ = 0;
};

}  // namespace mlsysim::detail
