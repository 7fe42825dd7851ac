#pragma once
/// The Pareto front of points that come one after the other. Every objective is made small.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mlsysim {

/// Positions of the points that no other beats, in lexicographic order of their values: a point beats another
/// when it is no larger in every objective and smaller in one, or equal in all with a lower index.
///
/// n points take n log n comparisons for up to three objectives (Kung, Luccio, Preparata 1975), and n (log
/// n)^(d-1) for d more.
/// @param values     of all points one after the other, `objectives` each; infinities count, NaN must not
/// occur
/// @param indices    one for each point
[[nodiscard]] std::vector<std::uint32_t> non_dominated(std::span<const double> values,
                                                       std::span<const std::uint64_t> indices,
                                                       std::size_t objectives);

/// The front so far of points that are added one by one. Points that may be on it wait until there are as
/// many as the front has, then both are reduced at once: the bounds of `non_dominated` hold for all points
/// together, and memory is that of twice the front. The order of adding does not matter.
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
