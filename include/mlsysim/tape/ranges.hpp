#pragma once
/// Bounds of the results of a tape over a box of inputs, and the inputs in which a result is monotone.
///
///     range[n] = op(range[a], range[b])                   forwards: outer bounds
///     partial[i] = range of d result / d input[i]         backwards, over the whole box
///     partial[i] >= 0: rising,  partial[i] <= 0: falling,  else unknown
///
/// The bound of a monotone result lies at an end of that input. With all inputs monotone the bounds are the
/// values at two corners, which are exact. A jump (ceil, floor, a condition that flips) is a derivative that
/// is unbounded in one direction and keeps its sign.
/// @cite moore2009interval, section 6.4 (monotonicity test)
/// Example: x (1 - x) on [0, 0.4]: outer bounds [0, 0.4], derivative [0.2, 1], so bounds [0, 0.24].

#include <mlsysim/tape/tape.hpp>

#include <span>
#include <vector>

namespace mlsysim {

/// How a result changes with one input over a box.
enum class Trend : std::uint8_t {
  constant,  ///< does not depend on it
  rising,    ///< never falls where the input rises
  falling,   ///< never rises where the input rises
  unknown
};

/// Runs a tape on boxes; holds the workspace. The tape must outlive it. Not thread-safe.
class Ranges {
 public:
  explicit Ranges(const Tape& tape);

  /// Outer bounds of all results over a box: one range per input.
  void run(std::span<const Interval> box);
  [[nodiscard]] const Interval& result(std::size_t i) const { return range_[tape_->output(i)]; }
  /// After `run`: partial derivatives of one result by every input over that box. Valid until the next call.
  [[nodiscard]] std::span<const Interval> partials(std::size_t result);
  /// After `run`: trends of one result. Valid until the next call.
  [[nodiscard]] std::span<const Trend> trends(std::size_t result);

  /// Bounds of one result over a box, with monotone inputs at their ends: never wider than those of `run`.
  [[nodiscard]] Interval tight(std::size_t result, std::span<const Interval> box);
  /// After `run` over that box: one end of those bounds, at little more than half the work. Other results of
  /// that run are gone then.
  [[nodiscard]] double tight_low(std::size_t result, std::span<const Interval> box);
  [[nodiscard]] double tight_high(std::size_t result, std::span<const Interval> box);

 private:
  void reverse(std::size_t result);
  /// One end of a result whose trends are at hand, with monotone inputs at their ends; NaN if there are none.
  double at_ends(std::size_t result, std::span<const Interval> box, bool upper);

  const Tape* tape_;
  std::vector<Interval> range_, adjoint_, partial_, ends_;
  std::vector<Trend> trend_;
};

}  // namespace mlsysim
