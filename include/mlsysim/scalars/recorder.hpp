#pragma once
/// The recorder, which collects the operations of `Recorded` into a `Recording` of nodes, constants and
/// loops.
///
/// Constants are folded and equal operations share one node while recording. Rewrites keep the value of every
/// node bit for bit, with two exceptions. A product with the constant 0 and a quotient of it are 0, even
/// where a double gives NaN (other operand infinite or 0). The sign of a zero may differ.
/// Example: `max(x * 2.0, y)` on two inputs gives 5 nodes: two inputs, a constant, multiply and max.
/// `run_nodes` at (3, 5) gives 6. Writing the expression twice still gives 5 nodes.

#include <mlsysim/scalars/recorded.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace mlsysim {

struct LawShape;

/// One operation: operands are earlier nodes. An input holds its position in `a`, a constant its position
/// among the constants in `a`, a loop its position among the loops in `a` and which of its states it gives in
/// `b`.
struct TapeNode {
  TapeOp op = TapeOp::constant;
  std::uint32_t a = 0, b = 0, c = 0;
};

/// A call of a law: its values are in `call_values` from `first` on, inputs before results.
struct TapeCall {
  const LawShape* law = nullptr;
  std::uint32_t first = 0;
  std::uint16_t inputs = 0, results = 0;
  std::uint32_t parent = 0;  ///< position of the enclosing call plus 1; 0 for none
};

/// A name that `named` gave to a node, and the call inside which it did (position plus 1; 0 for none).
struct TapeName {
  std::uint32_t node = 0;
  std::uint32_t call = 0;
  std::string_view name;
};

struct TapeLoop;

/// All nodes, constants, loops, calls and names of one recording.
struct Recording {
  std::vector<TapeNode> nodes;
  std::vector<double> constants;
  std::vector<TapeLoop> loops;
  std::vector<TapeCall> calls;
  std::vector<std::uint32_t> call_values;  ///< nodes
  std::vector<TapeName> names;
  std::uint32_t inputs = 0;            ///< the first nodes
  std::vector<std::uint32_t> outputs;  ///< nodes
};

/// A loop whose count is a number of the tape: `states = body(round, states, captured)` for round = 0, 1, ...
/// below `count`.
struct TapeLoop {
  std::uint32_t count = 0;              ///< node
  int bound = 0;                        ///< largest admissible count
  std::vector<std::uint32_t> initial;   ///< nodes, one a state
  std::vector<std::uint32_t> captured;  ///< nodes of the outside that the body uses
  Recording body;                       ///< inputs: the round, the states, the captured; outputs: the states
};

/// Calls `f(operand)` for each node that a node needs.
template <class F> void for_each_operand(const Recording& r, const TapeNode& n, F&& f) {
  const int count = operands_of(n.op);
  if (count > 0) f(n.a);
  if (count > 1) f(n.b);
  if (count > 2) f(n.c);
  if (n.op != TapeOp::loop) return;
  const TapeLoop& loop = r.loops[n.a];
  f(loop.count);
  for (const auto x : loop.initial) f(x);
  for (const auto x : loop.captured) f(x);
}

/// The value of every node of a recording at one point.
/// @param in one number per input
/// @param values out: one per node
/// @throws DomainError as `run_loop` does
void run_nodes(const Recording& recording, std::span<const double> in, std::span<double> values);

/// States of a loop after its last round, for one point.
/// @param states in: the initial values; out: the last ones
/// @throws DomainError if the count is above the bound of the loop or not a number
void run_loop(const TapeLoop& loop, double count, std::span<double> states, std::span<const double> captured);

/// Records what this thread does with `Recorded` while it lives; recorders nest.
class Recorder {
 public:
  Recorder();
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The recorder of this thread, or null.
  [[nodiscard]] static Recorder* current();

  /// The next input; all inputs come before the first operation.
  [[nodiscard]] Recorded input();
  [[nodiscard]] Recorded add(TapeOp op, const Recorded& a, const Recorded& b, const Recorded& c);
  /// The node of a value, also of a constant or of a value of an enclosing recording.
  [[nodiscard]] std::uint32_t node_of(const Recorded& x);
  void name(std::string_view name, const Recorded& x);

  /// Begins a call of a law; returns its position plus 1, to be given to `end_call`.
  [[nodiscard]] std::uint32_t begin_call(const LawShape* law, std::span<const Recorded> inputs,
                                         std::size_t results);
  void end_call(std::uint32_t call, std::span<const Recorded> results);
  void leave_call(std::uint32_t call);

  /// Ends the recording, with these values as outputs. No call may follow.
  [[nodiscard]] Recording finish(std::span<const Recorded> outputs);

  /// Values of enclosing recordings that were used here, in the order in which they became inputs.
  [[nodiscard]] std::span<const Recorded> captured() const { return captured_; }
  /// Keeps a loop; its states are then `loop_state(that, k)`.
  [[nodiscard]] std::uint32_t add_loop(TapeLoop loop);
  [[nodiscard]] Recorded loop_state(std::uint32_t loop, std::uint32_t state);

 private:
  /// The key that equal nodes share: operation and operands, in one order where they commute, or the bits of
  /// a constant.
  [[nodiscard]] TapeNode key_of(TapeNode n) const;
  [[nodiscard]] std::uint32_t shared(const TapeNode& key, const TapeNode& node);
  void grow_table();

  Recorder* before_;
  std::uint32_t depth_;
  std::uint32_t call_ = 0;
  Recording out_;
  std::vector<std::uint32_t> table_;  ///< open addressing: node plus 1
  std::vector<Recorded> captured_;
  std::vector<std::uint32_t> capture_nodes_;
};

/// Records the body of a loop: `f(state, round)` is called once, on values that stand for any round.
class LoopRecorder {
 public:
  LoopRecorder(const Recorded& count, std::span<const Recorded> initial, int bound);
  [[nodiscard]] const Recorded& round() const { return round_; }
  [[nodiscard]] std::span<const Recorded> states() const { return states_; }
  /// The states after the last round, from those after one.
  [[nodiscard]] std::vector<Recorded> finish(std::span<const Recorded> next);

 private:
  Recorded count_;
  std::vector<Recorded> initial_, states_;
  int bound_;
  std::optional<Recorder> body_;
  Recorded round_;
};

}  // namespace mlsysim
