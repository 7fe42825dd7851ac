#pragma once
/// A law or a whole estimate, recorded once as a list of operations that all tools interpret.
///
///     value[n] = op(value[a], value[b], value[c])      with a, b, c < n
///
/// A law called on `Recorded` leaves a node for each operation whose operands are not all constant.
/// `Tape::evaluate` runs the nodes on doubles and `ColumnProgram` (tape/columns.hpp) on blocks of points.
/// `Ranges` (tape/ranges.hpp) runs them on ranges, `Slopes` (tape/slopes.hpp) backwards with derivatives.
/// `derive` (tape/derivation.hpp) reads them with names.
/// Example: a b + 1 is a tape of 5 nodes: two inputs, the product, the constant 1 and the sum. It gives 13 at
/// a = 3, b = 4.

#include <mlsysim/scalars/recorder.hpp>
#include <mlsysim/tape/interval.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mlsysim {

/// A finished recording. Immutable and free of references to what was recorded, but for the static texts of
/// laws and names.
class Tape {
 public:
  Tape() = default;
  explicit Tape(Recording recording);

  [[nodiscard]] std::size_t inputs() const { return r_.inputs; }
  [[nodiscard]] std::size_t results() const { return r_.outputs.size(); }
  [[nodiscard]] std::size_t size() const { return r_.nodes.size(); }
  [[nodiscard]] const TapeNode& node(std::size_t n) const { return r_.nodes[n]; }
  [[nodiscard]] double constant(const TapeNode& n) const { return r_.constants[n.a]; }
  /// Node of a result.
  [[nodiscard]] std::uint32_t output(std::size_t result) const { return r_.outputs[result]; }
  /// The value of a constant node; empty for any other node.
  [[nodiscard]] std::optional<double> fixed(std::uint32_t node) const {
    if (r_.nodes[node].op != TapeOp::constant) return std::nullopt;
    return r_.constants[r_.nodes[node].a];
  }
  [[nodiscard]] const Recording& recording() const { return r_; }

  /// Values of all nodes at one point. `values` has `size()` members.
  void evaluate(std::span<const double> in, std::span<double> values) const;
  /// Results at one point; `values` is workspace, which grows as needed.
  void evaluate(std::span<const double> in, std::span<double> out, std::vector<double>& values) const;
  /// Results at one point.
  [[nodiscard]] std::vector<double> operator()(std::span<const double> in) const;

 private:
  Recording r_;
};

/// Inputs that are fixed or bounded before a tape is run many times, and the results that are needed.
struct TapeReduction {
  /// Per input the value that it keeps, or nothing where it varies; empty: all vary.
  std::span<const std::optional<double>> fixed{};
  /// Per input the range that it stays in; empty: unknown. Comparisons and limits that the range decides are
  /// taken out.
  std::span<const Interval> box{};
  /// Results that are wanted; empty with `all`: every one.
  std::span<const std::size_t> results{};
  bool all = true;
  /// Inputs that the part has, in their order, where all others are fixed; nothing: all keep their positions.
  std::optional<std::span<const std::size_t>> inputs{};
};

/// The part of a tape that remains, with the wanted results in their order. Names and calls of laws are
/// dropped. Values keep their bits.
[[nodiscard]] Tape reduced(const Tape& tape, const TapeReduction& known);

/// Records `f(inputs) -> results`, which computes with `Recorded`.
template <class F>
  requires std::invocable<F&, std::span<const Recorded>>
[[nodiscard]] Tape record_tape(std::size_t inputs, F&& f) {
  Recorder recorder;
  std::vector<Recorded> in;
  in.reserve(inputs);
  for (std::size_t i = 0; i < inputs; ++i) in.push_back(recorder.input());
  const std::vector<Recorded> out = f(std::span<const Recorded>(in));
  return Tape(recorder.finish(out));
}

/// Two tapes in a row. Results are those of the second.
/// @param wiring per input of `after`: index of a result of `before`, or `before.results()` plus the index of
/// an input
[[nodiscard]] Tape joined(const Tape& before, const Tape& after, std::span<const std::size_t> wiring);

/// Runs the operations of a tape on `Recorded` values, inside the recorder of this thread.
[[nodiscard]] std::vector<Recorded> replay(const Tape& tape, std::span<const Recorded> in);

namespace detail {
/// The range of a node from those of its operands.
[[nodiscard]] Interval range_of(const Recording& r, const TapeNode& node, std::span<const Interval> range,
                                std::span<const Interval> box);
}  // namespace detail

}  // namespace mlsysim
