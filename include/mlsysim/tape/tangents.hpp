#pragma once
/// Derivatives of all results of a tape by one or up to 8 inputs at once (forward mode), one-sided at kinks
/// and steps.
///
///     tangent[n] = sum over operands a of (d value[n] / d value[a]) * tangent[a],  tangent[seed] = direction
///
/// At a tie of `min`, `max`, `abs` or `select` the partial is that of a move in `direction` (+1 or -1). The
/// run in direction -1, negated, gives the slope on the other side. `kinks` marks an input along which a tie
/// with unequal partials was met. `steps` marks an input along which the value changes in steps (ceil, floor,
/// a count, a jump). Its partial of 0 is not meaningful. Both marks cover both sides of the point. Without a
/// kink, the partials hold on both sides.
/// Example: max(x, 1) at x = 1 has the partials 1 in direction +1 and 0 in direction -1, and `kinks`.

#include <mlsysim/tape/tape.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace mlsysim {

/// Runs a tape on values with their partials; holds the workspace. The tape must outlive it. Not thread-safe.
/// @tparam seed_count inputs of one run: 1 or 8
template <int seed_count> class TangentsOf {
 public:
  /// Inputs of one run.
  static constexpr int kSeeds = seed_count;

  /// @param nodes those that runs visit, in order, all by default; they must outlive it
  explicit TangentsOf(const Tape& tape, std::span<const std::uint32_t> nodes = {});

  /// @param seeds at most `kSeeds` inputs, which move in `direction` (+1 or -1)
  void run(std::span<const double> in, std::span<const std::size_t> seeds, double direction);

  [[nodiscard]] double value(std::size_t result) const { return values_[tape_->output(result)]; }
  [[nodiscard]] double partial(std::size_t result, std::size_t seed) const {
    return row(tape_->output(result))[seed];
  }
  /// The value changes in steps along this seed.
  [[nodiscard]] bool steps(std::size_t result, std::size_t seed) const {
    return bit(marks_[tape_->output(result)].steps, seed);
  }
  /// A tie with unequal partials was met.
  [[nodiscard]] bool kinks(std::size_t result, std::size_t seed) const {
    return bit(marks_[tape_->output(result)].kinks, seed);
  }

  /// How far a seed must move until some ceil, floor or count takes its next value: linear estimates,
  /// infinite if none.
  [[nodiscard]] double step_up(std::size_t seed) const { return up_[seed]; }
  [[nodiscard]] double step_down(std::size_t seed) const { return down_[seed]; }

 private:
  static constexpr std::uint32_t kAll = (1u << kSeeds) - 1u;
  struct Marks {
    std::uint32_t steps = 0,
                  kinks = 0;  ///< of a condition: which seeds it holds for after a small move, and before one
  };
  static bool bit(std::uint32_t bits, std::size_t i) { return (bits >> i & 1u) != 0; }
  [[nodiscard]] const double* row(std::size_t n) const { return partials_.data() + n * kSeeds; }
  [[nodiscard]] double* row(std::size_t n) { return partials_.data() + n * kSeeds; }

  void visit(std::size_t n, std::span<const double> in, std::span<const std::size_t> seeds, double direction);
  void step(std::size_t n);
  void arithmetic(std::size_t n, const TapeNode& node, double value, double by_a, double by_b);
  void mark_operands(std::size_t n, const TapeNode& node);
  void compare(std::size_t n);
  void choose(std::size_t n, std::uint32_t a, std::uint32_t b, bool larger);
  void pick(std::size_t n);
  void round(std::size_t n, bool up);
  void note_step(double x, double rounded, const double* partial, bool up);
  void run_loop_at(std::size_t n);
  void chain(std::size_t n, std::uint32_t operand, double slope);
  void clear_row(std::size_t n);
  /// The node stays: its partials are zero, as they mostly are already.
  void rest(std::size_t n);

  const Tape* tape_;
  std::span<const std::uint32_t> nodes_;
  std::vector<double> values_, partials_;
  std::vector<Marks> marks_;
  std::vector<std::uint8_t> moves_;    ///< whether a seed reaches the node at all
  std::vector<std::uint8_t> written_;  ///< whether its partials may be other than zero
  double up_[kSeeds] = {}, down_[kSeeds] = {};
};

extern template class TangentsOf<1>;
extern template class TangentsOf<8>;
using Tangents = TangentsOf<8>;

}  // namespace mlsysim
