#pragma once
// Boxes of points of a space: rows of its axes over numbers, for one choice of the structural ones.

#include "explore/search/point_kernel.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace mlsysim::detail {

inline constexpr std::size_t kMostAxes = 16;

/// A box of rows of one subject.
struct Box {
  double bound = 0;
  std::uint64_t first = 0;  ///< lowest index inside
  std::uint32_t outer = 0;
  std::array<std::uint32_t, kMostAxes> low{}, high{};  ///< rows [low, high) per axis over numbers
  /// By how much halving an axis raised the bounds of the loosest and of the tightest part when it was last
  /// tried.
  std::array<std::pair<double, double>, kMostAxes> gain{};

  friend bool operator<(const Box& a, const Box& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.first > b.first;
  }
};

/// The axes of a space over numbers, for boxes of its points.
class Grid {
 public:
  explicit Grid(const Space& of) : space(of), axes(of.axes().size() - of.structural_axes()) {
    std::uint64_t stride = space.inner();
    for (std::size_t a = 0; a < axes; ++a) {
      const auto& axis = space.axes()[space.structural_axes() + a];
      sizes[a] = static_cast<std::uint32_t>(axis.size());
      stride /= sizes[a];
      strides[a] = stride;
      coupled[a] = axis.names.size() > 1;
    }
  }

  [[nodiscard]] Box whole(std::uint64_t outer) const {
    Box root{.outer = static_cast<std::uint32_t>(outer)};
    for (std::size_t a = 0; a < axes; ++a) root.high[a] = sizes[a];
    root.gain.fill({HUGE_VAL, HUGE_VAL});
    root.first = first_index(root);
    return root;
  }
  [[nodiscard]] std::uint64_t first_index(const Box& b) const {
    std::uint64_t at = b.outer * space.inner();
    for (std::size_t a = 0; a < axes; ++a) at += b.low[a] * strides[a];
    return at;
  }
  [[nodiscard]] std::uint64_t points_in(const Box& b) const {
    std::uint64_t n = 1;
    for (std::size_t a = 0; a < axes; ++a) n *= b.high[a] - b.low[a];
    return n;
  }
  /// Whether the points of a box follow one another: single rows of slow axes, then some of one, then all of
  /// the fast ones.
  [[nodiscard]] bool is_row(const Box& b) const {
    std::size_t a = axes;
    while (a > 0 && b.high[a - 1] - b.low[a - 1] == sizes[a - 1]) --a;
    for (std::size_t slow = 0; slow + 1 < a; ++slow)
      if (b.high[slow] - b.low[slow] != 1) return false;
    return true;
  }
  /// Whether a box is so small that its points are evaluated.
  [[nodiscard]] bool is_leaf(const Box& b) const { return points_in(b) <= (is_row(b) ? row_leaf() : leaf()); }

  const Space& space;
  std::size_t axes;
  std::array<std::uint64_t, kMostAxes> strides{};
  std::array<std::uint32_t, kMostAxes> sizes{};
  std::array<bool, kMostAxes> coupled{};  ///< a row of it sets several inputs

  /// Most points of a box that is evaluated.
  [[nodiscard]] std::uint64_t leaf() const {
    return std::clamp(space.inner() / kLeaves, kLeastLeaf, kMostLeaf);
  }

 private:
  // Boxes of fewer points are evaluated, not split: a bound costs as much as some dozens of points of a
  // batch, and as much as a thousand that follow one another, because these share most of their work. In a
  // small space a bound of a small part still saves the rest. A box of points apart fits in one block.
  static constexpr std::uint64_t kLeastLeaf = 64, kMostLeaf = 96, kLeaves = 64, kMostRow = 8192, kRows = 16;
  static_assert(kMostLeaf <= PointKernel::kBlock);
  /// Most points of an evaluated box whose points follow one another.
  [[nodiscard]] std::uint64_t row_leaf() const {
    return std::clamp(space.inner() / kRows, kLeastLeaf, kMostRow);
  }
};

}  // namespace mlsysim::detail
