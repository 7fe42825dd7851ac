#include <mlsysim/tape/slopes.hpp>

#include "node_slopes.hpp"

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr double kEdge = 1e-9;  // distance to a whole number, over it, from which on an operand counts as one

}  // namespace

Slopes::Slopes(const Tape& tape)
    : tape_(&tape),
      values_(tape.size()),
      adjoints_(tape.size()),
      partials_(tape.inputs()),
      marks_(tape.size()),
      rough_inputs_(tape.inputs()) {}

void Slopes::run(std::span<const double> in) { tape_->evaluate(in, values_); }

/// Hands what is known of a node to one of its operands, by the slope between them. What has no slope hands
/// on nothing.
inline void Slopes::pass(std::size_t n, std::uint32_t operand, double slope) {
  if (slope == 0) return;
  if (!std::isfinite(slope)) {
    roughen(operand);
    return;
  }
  adjoints_[operand] += adjoints_[n] * slope;
  marks_[operand] = static_cast<std::uint8_t>(marks_[operand] | (marks_[n] & kRough));
}

inline void Slopes::pass_both(std::size_t n, double value) {
  const TapeNode& node = tape_->node(n);
  const auto slopes = detail::slopes_of(node.op, values_[node.a], values_[node.b], value);
  pass(n, node.a, slopes.by_a);
  if (operands_of(node.op) == 2) pass(n, node.b, slopes.by_b);
}

void Slopes::pull(std::size_t n) {
  const TapeNode& node = tape_->node(n);
  const double a = values_[node.a], b = values_[node.b], v = values_[n];
  switch (node.op) {
    case TapeOp::input:
      partials_[node.a] = adjoints_[n];
      rough_inputs_[node.a] = static_cast<std::uint8_t>(marks_[n] & kRough);
      break;
    case TapeOp::constant:
      break;
    case TapeOp::loop:
      for_each_operand(tape_->recording(), node, [&](std::uint32_t o) { roughen(o); });
      break;
    case TapeOp::ceil:
    case TapeOp::floor:
      // At the edge there is a jump on one side.
      mark(node.a, std::fabs(a - std::round(a)) <= kEdge * std::fabs(a) ? kTied : kSteps);
      break;
    case TapeOp::min:
    case TapeOp::max: {
      const bool first = node.op == TapeOp::min ? a < b : b < a,
                 second = node.op == TapeOp::min ? b < a : a < b;
      if (first)
        pass(n, node.a, 1.0);
      else if (second)
        pass(n, node.b, 1.0);
      else
        roughen(node.a), roughen(node.b);
      break;
    }
    // A condition matters to first order only where it is about to change.
    case TapeOp::less:
    case TapeOp::less_equal:
    case TapeOp::equal:
    case TapeOp::not_equal:
      if (a == b) roughen(node.a), roughen(node.b);
      break;
    case TapeOp::both:
    case TapeOp::either:
      ask(node.b);
      [[fallthrough]];
    case TapeOp::negation:
      ask(node.a);
      break;
    case TapeOp::select:
      ask(node.a);
      pass(n, a != 0 ? node.b : node.c, 1.0);
      break;
    default:
      // The tip of a size, of one number or of two, has no slope.
      if (v == 0 && node.op == TapeOp::abs)
        roughen(node.a);
      else if (v == 0 && node.op == TapeOp::quadrature)
        roughen(node.a), roughen(node.b);
      else
        pass_both(n, v);
  }
}

void Slopes::reverse(std::size_t result) {
  const std::uint32_t from = tape_->output(result);
  std::fill_n(adjoints_.begin(), from + 1, 0.0);
  std::fill_n(marks_.begin(), from + 1, std::uint8_t{0});
  std::fill(partials_.begin(), partials_.end(), 0.0);
  std::fill(rough_inputs_.begin(), rough_inputs_.end(), std::uint8_t{0});
  adjoints_[from] = 1.0;
  for (std::size_t n = from + 1; n-- > 0;)
    if (adjoints_[n] != 0 || marks_[n] != 0) pull(n);
}

}  // namespace mlsysim
