#pragma once
// One thread of a branch and bound: bounds, splits and evaluates boxes.

#include "explore/search/boxes.hpp"
#include "explore/search/reduction.hpp"

#include <mlsysim/tape/ranges.hpp>

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

namespace mlsysim::detail {

/// One choice of the structural axes.
struct Bound {
  std::shared_ptr<const Subject> subject;
  std::shared_ptr<const Compiled> compiled;
  std::vector<Space::Column> columns;
  std::vector<std::size_t> axes;  ///< of the columns
  std::vector<bool> ascending;    ///< by column

  void remember(const Space& space, const PointKernel& kernel) {
    subject = kernel.shared_subject();
    compiled = kernel.shared_compiled();
    columns = kernel.columns();
    axes = axes_of_columns(space, columns);
    for (const auto& c : columns) ascending.push_back(c.values.ascending());
  }
  [[nodiscard]] bool held() const { return compiled != nullptr; }
  /// Operations of the tapes that it holds.
  [[nodiscard]] std::size_t operations() const {
    if (!held()) return 0;
    return compiled->tape.size() + (subject->entry.is_law() ? subject->entry.tape().size() : 0);
  }
};

/// The lowest value known so far and its index; boxes are held against it.
struct Incumbent {
  double value = HUGE_VAL;
  std::uint64_t index = 0;
  double others = HUGE_VAL;  ///< the lowest that workers elsewhere have found

  void take(const Reduction& r) {
    for (const auto& [v, i] : r.top.entries())
      if (v < value || (v == value && i < index)) value = v, index = i;
  }
  [[nodiscard]] bool known() const { return std::min(value, others) < HUGE_VAL; }
  /// No point of the box can replace the best: it is worse, or as good with a higher index.
  [[nodiscard]] bool beats(const Box& b) const {
    constexpr double kSlack = 1e-12;  // interval ends are not rounded outward
    // Other workers report a value without its index, so a box that ties is still evaluated.
    if (b.bound > others + kSlack * std::fabs(others)) return true;
    if (value == HUGE_VAL) return false;
    const double slack = kSlack * std::fabs(value);
    if (b.bound > value + slack) return true;
    return b.bound >= value - slack && b.first > index;
  }
};

/// Bounds, splits and evaluates boxes; one a thread.
class BoxWorker {
 public:
  BoxWorker(const Grid& grid, const std::vector<Bound>& subjects, const Question& question,
            std::size_t constraints);

  /// The whole of one subject, bounded.
  [[nodiscard]] Box root(std::uint64_t outer);
  /// The parts of a box along one axis, bounded, but for those without a point that meets the constraints.
  [[nodiscard]] std::vector<Box> pieces(const Box& box);
  /// Evaluates a box, or divides it.
  /// @return the parts that may hold something better than `best`
  [[nodiscard]] std::vector<Box> work_on(Box box, const Incumbent& best);
  /// Lets go of what it has of a subject, which is bound anew before the next box of it.
  void forget(std::uint64_t outer) { ranges_[outer].reset(); }

  Reduction reduction;
  double boxes = 0;

 private:
  struct Kernel {
    std::optional<PointKernel> points;
    std::uint64_t outer = 0;  ///< whose subject it holds
  };

  void bound(Box& box, const Incumbent& best);
  [[nodiscard]] std::vector<Box> split(Box& box, const Incumbent& best);
  [[nodiscard]] PointKernel& kernel_of(std::uint64_t outer);
  void evaluate(const Box& box);
  void evaluate_row(const Box& box, PointKernel& kernel);

  const Grid& grid_;
  const std::vector<Bound>& subjects_;
  const Question& question_;
  std::vector<std::unique_ptr<Ranges>> ranges_;  ///< by subject, made at its first box
  std::vector<Kernel> kernels_;
  std::vector<Interval> box_;
  std::vector<std::uint64_t> indices_;
};

}  // namespace mlsysim::detail
