#pragma once
/// Pareto front of points with several objectives, all minimized.
///
/// A point beats another when it is no larger in every objective and smaller in one, or equal with a lower
/// index. Cost for n points (Kung, Luccio and Preparata 1975): n log n comparisons up to three objectives, n
/// (log n)^(d - 1) for d more.
/// Limits: infinities are allowed, NaN is not.
/// Example: (1, 5), (2, 3), (2, 4), (4, 1), (5, 5) have the front (1, 5), (2, 3), (4, 1).

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mlsysim {

/// Positions of the points on the front, in lexicographic order of their values.
/// @param values values of all points one after the other, `objectives` each
/// @param indices one for each point
[[nodiscard]] std::vector<std::uint32_t> non_dominated(std::span<const double> values,
                                                       std::span<const std::uint64_t> indices,
                                                       std::size_t objectives);

/// The front of points that are added one by one, in any order.
///
/// New points wait until they are as many as the front, and both are then reduced at once. The cost above
/// holds for all points together, and memory is at most twice the front.
class NonDominated {
 public:
  struct Entry {
    std::vector<double> values;
    std::uint64_t index = 0;
  };
  /// Takes a point; all have the same number of objectives. @return false where it is beaten already
  bool add(std::span<const double> values, std::uint64_t index);
  /// The non-dominated points so far, in lexicographic order of their values.
  [[nodiscard]] std::vector<Entry> entries() const;
  /// Points at hand: on the front, or waiting.
  [[nodiscard]] std::size_t held() const { return indices_.size(); }

 private:
  [[nodiscard]] bool beaten(std::span<const double> values, std::uint64_t index) const;
  void reduce();

  std::size_t objectives_ = 0, reduced_ = 0;  // the first points are a front, in order
  std::vector<double> values_;
  std::vector<std::uint64_t> indices_;
  std::vector<std::uint32_t>
      first_asked_;  // points of the front that beat the most: a new point meets them first
};

}  // namespace mlsysim
