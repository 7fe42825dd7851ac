#pragma once
/// Counts, reasons, best points and nearest misses that every search keeps of the points it evaluates.
///
/// The searches of resolvers (`Search`) and those of spaces (`explore`) count with these. Adding points in
/// any order, or joining parts in any order, gives the same; of equal points the one with the lower index
/// wins.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim {

/// Points by what became of them.
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

/// The k smallest values.
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

/// The points that one constraint excludes, and of those that miss nothing else the one that misses it by
/// least.
struct NearMiss {
  double violated = 0;       ///< points that miss it
  double alone = 0;          ///< points that miss only this one
  double excess = HUGE_VAL;  ///< of the nearest of these: by how much it misses
  double left = 0;           ///< and its value, to which the constraint would have to be relaxed
  std::uint64_t index = 0;

  /// Takes a point that misses only this one, without counting it. True when it is the nearest now.
  bool take(double by, double value, std::uint64_t at);
  void merge(const NearMiss& other);
};

}  // namespace mlsysim
