#pragma once
/// Derivatives of one result by all inputs of a tape at once (reverse mode).
///
///     value[n] = op(value[a], value[b])                     forwards
///     adjoint[a] += adjoint[n] * d value[n] / d value[a]    backwards, from adjoint[result] = 1
///     partial[i] = adjoint of input i
///
/// An input is `rough` where this slope is not enough. Causes are a tie of `min`, `max`, `abs` or a
/// condition, a ceil, a floor, a loop and an infinite slope. `Tangents` then gives both sides. Where ceil and
/// floor are the only causes and none is at its edge (`only_steps`), the slope is that between two steps.
/// Operands of a tie that move alike are none: the sweep forwards also carries the derivative along one
/// direction, in which no two inputs move alike.
/// Example: a b + 1 at a = 3, b = 4: value 13, partials 4 and 3.

#include <mlsysim/tape/tape.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace mlsysim {

/// Sweeps a tape; holds the workspace. The tape must outlive it. Not thread-safe.
class Slopes {
 public:
  /// @param results those that are asked for, all by default: nodes that none of them needs are not visited
  explicit Slopes(const Tape& tape, std::span<const std::size_t> results = {});

  /// Values at a point.
  /// @param moving inputs whose slopes are asked for, all by default; what the others do is no tie and no
  /// step
  void run(std::span<const double> in, std::span<const std::size_t> moving = {});
  [[nodiscard]] double value(std::size_t result) const { return values_[tape_->output(result)]; }

  /// The nodes that the results need, in order.
  [[nodiscard]] std::span<const std::uint32_t> nodes() const { return live_; }

  /// Slopes of one result by the moving inputs at the point of the last `run`.
  void reverse(std::size_t result);
  [[nodiscard]] double partial(std::size_t input) const { return partials_[input]; }
  /// Whether the slope by this input is not enough.
  [[nodiscard]] bool rough(std::size_t input) const { return rough_inputs_[input] != 0; }
  /// Whether the input is rough and nothing but a ceil or a floor is the cause.
  [[nodiscard]] bool only_steps(std::size_t input) const { return rough_inputs_[input] == kSteps; }

 private:
  /// State of a node in the backward sweep, besides its adjoint.
  enum Mark : std::uint8_t {
    kTied = 1,   ///< behind it there is a tie, a loop or an infinite slope
    kSteps = 2,  ///< behind it there is a ceil or a floor
    kAsked = 4,  ///< a condition that something depends on
    kBeside = 8  ///< the other operand of a tie that is none: its steps count
  };
  static constexpr std::uint8_t kRough = kTied | kSteps;
  void push(std::size_t n, std::span<const double> in);
  [[nodiscard]] double tangent_of(std::size_t n) const;
  [[nodiscard]] bool move_alike(std::uint32_t a, std::uint32_t b) const;
  void pull(std::size_t n);
  void pass(std::size_t n, std::uint32_t operand, double slope);
  void pass_both(std::size_t n, double value);
  void roughen(std::uint32_t operand) { mark(operand, kTied); }
  void ask(std::uint32_t condition) { mark(condition, kAsked); }
  void look_beside(std::uint32_t operand) { mark(operand, kBeside); }
  void mark(std::uint32_t node, Mark m) { marks_[node] = static_cast<std::uint8_t>(marks_[node] | m); }

  const Tape* tape_;
  std::vector<std::uint32_t> live_;  ///< nodes that the results need, in order
  std::vector<double> values_, tangents_, adjoints_, partials_;
  std::vector<std::uint8_t> moves_;  ///< whether a moving input reaches the node
  std::vector<std::uint8_t> marks_, rough_inputs_;
};

}  // namespace mlsysim
