#pragma once
/// Counts, skip reasons, best points and nearest misses that a search keeps of the points it evaluates.
///
/// `Search` (resolvers) and `explore` (spaces) both use them. The order of adding or merging does not matter,
/// and of equal points the one with the lower index wins.
/// Example: a TopK of 2 that receives 4, 2, 3 keeps 2 and 3, and its threshold is 3.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim {

/// Points by outcome.
struct PointCounts {
  double feasible = 0;    ///< meet every constraint
  double infeasible = 0;  ///< miss one
  double not_finite = 0;  ///< miss none, but an objective is no number
  double skipped = 0;     ///< cannot be judged, for a reason
  struct Reason {
    std::string reason;
    double points = 0;
    std::size_t first = 0;  ///< how many others there were before
  };
  std::vector<Reason> skip_reasons;  ///< by name

  void skip(std::string_view reason, double points = 1);
  void merge(const PointCounts& other);
  /// The reasons in the order in which they came up.
  [[nodiscard]] std::vector<Reason> reasons_in_order() const;
  [[nodiscard]] double total() const { return feasible + infeasible + not_finite + skipped; }
};

/// The k smallest values with their indices.
class TopK {
 public:
  using Entry = std::pair<double, std::uint64_t>;  ///< value, index
  explicit TopK(std::size_t k = 1) : k_(k) {}
  /// No point with a larger value can enter.
  [[nodiscard]] double threshold() const { return entries_.size() < k_ ? HUGE_VAL : entries_.back().first; }
  /// True when the point is among them now.
  bool add(double value, std::uint64_t index);
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }  // ascending
  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  std::size_t k_;
  std::vector<Entry> entries_;
};

/// Points that one constraint excludes, and the nearest of those that miss nothing else.
struct NearMiss {
  double violated = 0;       ///< points that miss it
  double alone = 0;          ///< points that miss only this one
  double excess = HUGE_VAL;  ///< least amount by which one of these misses
  double left = 0;           ///< its value: the limit that would admit it
  std::uint64_t index = 0;

  /// Takes a point that misses only this one, without counting it. True when it is the nearest now.
  bool take(double by, double value, std::uint64_t at);
  void merge(const NearMiss& other);
};

}  // namespace mlsysim
