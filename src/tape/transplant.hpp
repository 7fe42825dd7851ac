#pragma once
// Copies nodes of a recording into another one, and tells which are needed.

#include <mlsysim/scalars/recorder.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace mlsysim::detail {

/// Which nodes these depend on.
[[nodiscard]] inline std::vector<std::uint8_t> live_nodes(const Recording& r,
                                                          std::span<const std::uint32_t> outputs) {
  std::vector<std::uint8_t> live(r.nodes.size());
  for (const auto o : outputs) live[o] = 1;
  for (std::size_t n = r.nodes.size(); n-- > 0;)
    if (live[n] != 0) for_each_operand(r, r.nodes[n], [&](std::uint32_t o) { live[o] = 1; });
  return live;
}

/// A recording built from nodes of another. The operands of a node are copied, or made inputs, before the
/// node.
class Transplant {
 public:
  explicit Transplant(const Recording& from)
      : from_(from), moved_(from.nodes.size()), loops_(from.loops.size(), kNotYet) {}

  /// The node stands for the next input.
  void make_input(std::size_t n) {
    moved_[n] = place();
    out_.nodes.push_back({TapeOp::input, out_.inputs++});
  }
  /// The operation itself, once.
  void copy(std::size_t n) {
    TapeNode node = from_.nodes[n];
    const int operands = operands_of(node.op);
    if (operands > 0) node.a = moved_[node.a];
    if (operands > 1) node.b = moved_[node.b];
    if (operands > 2) node.c = moved_[node.c];
    if (node.op == TapeOp::constant) {
      out_.constants.push_back(from_.constants[node.a]);
      node.a = static_cast<std::uint32_t>(out_.constants.size() - 1);
    } else if (node.op == TapeOp::loop) {
      node.a = loop(node.a);
    }
    moved_[n] = place();
    out_.nodes.push_back(node);
  }
  void make_output(std::uint32_t n) { out_.outputs.push_back(moved_[n]); }

  [[nodiscard]] Recording finish() { return std::move(out_); }

 private:
  static constexpr std::uint32_t kNotYet = ~std::uint32_t{0};

  [[nodiscard]] std::uint32_t place() const { return static_cast<std::uint32_t>(out_.nodes.size()); }
  /// States of one loop share it.
  [[nodiscard]] std::uint32_t loop(std::uint32_t at) {
    if (loops_[at] == kNotYet) {
      TapeLoop copy = from_.loops[at];
      copy.count = moved_[copy.count];
      for (auto& x : copy.initial) x = moved_[x];
      for (auto& x : copy.captured) x = moved_[x];
      loops_[at] = static_cast<std::uint32_t>(out_.loops.size());
      out_.loops.push_back(std::move(copy));
    }
    return loops_[at];
  }

  const Recording& from_;
  Recording out_;
  std::vector<std::uint32_t> moved_, loops_;
};

}  // namespace mlsysim::detail
