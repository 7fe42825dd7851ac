#pragma once
// Numbers of a long file in little memory.

#include <mlsysim/request_trace/traffic.hpp>

#include <cstdint>
#include <vector>

namespace mlsysim::detail {

/// Counts whole numbers in 14,592 bins: one for each below 512, then 256 an octave, which are 0.4 % wide.
class NumberHistogram {
 public:
  void add(std::uint64_t x);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double deviation() const;
  [[nodiscard]] double most() const { return static_cast<double>(most_); }
  /// The laws too. @param unit of the numbers, in which the answer is: 1e-6 for microseconds in seconds
  [[nodiscard]] CountedSpread spread(double unit = 1) const;

 private:
  [[nodiscard]] static std::size_t bin_of(std::uint64_t x);
  [[nodiscard]] static std::uint64_t first_of(std::size_t bin);
  [[nodiscard]] double quantile(double share) const;

  std::vector<std::uint64_t> bins_;  // as long as the largest number asks for
  std::uint64_t count_ = 0, least_ = ~std::uint64_t{0}, most_ = 0;
  double mean_ = 0, squares_ = 0;  // Welford's sums
};

}  // namespace mlsysim::detail
