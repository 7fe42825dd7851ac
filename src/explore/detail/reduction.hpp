#pragma once
// What is kept of a sweep while the points pass by. Adding blocks in any order and merging in any order gives the same.

#include "point_kernel.hpp"

#include <mlsysim/resolve/non_dominated.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim::detail {

/// The k smallest values; of equal ones the lower index wins.
class TopK {
 public:
  using Entry = std::pair<double, std::uint64_t>;
  explicit TopK(std::size_t k = 1) : k_(k) {}
  /// No point with a larger value can enter.
  [[nodiscard]] double threshold() const { return entries_.size() < k_ ? HUGE_VAL : entries_.back().first; }
  void add(double value, std::uint64_t index);
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }  // ascending

 private:
  std::size_t k_;
  std::vector<Entry> entries_;
};

class Reduction {
 public:
  Reduction() = default;
  Reduction(const Question& question, std::size_t constraints);

  /// Takes the current block of a kernel; its points are [first, first + points) of the whole space.
  void add(PointKernel& kernel, std::uint64_t first);
  /// The same for points that are not neighbours.
  void add(PointKernel& kernel, std::span<const std::uint64_t> indices);
  void skip(const std::string& reason, double points);
  void merge(const Reduction& other);

  [[nodiscard]] nlohmann::ordered_json to_json() const;
  static Reduction from_json(const nlohmann::ordered_json& json, const Question& question, std::size_t constraints);

  struct Miss {
    double violated = 0, alone = 0;
    double excess = HUGE_VAL, left = 0;
    std::uint64_t index = 0;
  };
  double evaluated = 0, feasible = 0, infeasible = 0, not_finite = 0, skipped = 0;
  std::map<std::string, double> skip_reasons;
  std::vector<Miss> misses;
  TopK top;
  NonDominated front;
  std::map<int, double> bins;
  double zero_or_less = 0;

 private:
  template <class IndexOf>
  void add_block(PointKernel& kernel, IndexOf index_of);
  std::size_t objectives_ = 0;
};

}  // namespace mlsysim::detail
