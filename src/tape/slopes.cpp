#include <mlsysim/tape/slopes.hpp>

#include "node_slopes.hpp"
#include "transplant.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlsysim {
namespace {

constexpr double kEdge = 1e-9;  // distance to a whole number, over it, from which on an operand counts as one
constexpr double kAlike = 1e-14;  // relative difference of two derivatives that are the same but for rounding

/// The state that a loop leaves, of which this node is one.
double loop_value(const Recording& r, const TapeNode& node, std::span<const double> values) {
  const TapeLoop& loop = r.loops[node.a];
  std::vector<double> states, captured;
  for (const auto x : loop.initial) states.push_back(values[x]);
  for (const auto x : loop.captured) captured.push_back(values[x]);
  run_loop(loop, values[loop.count], states, captured);
  return states[node.b];
}

}  // namespace

Slopes::Slopes(const Tape& tape, std::span<const std::size_t> results)
    : tape_(&tape),
      values_(tape.size()),
      tangents_(tape.size()),
      adjoints_(tape.size()),
      partials_(tape.inputs()),
      moves_(tape.size()),
      marks_(tape.size()),
      rough_inputs_(tape.inputs()) {
  const Recording& r = tape.recording();
  std::vector<std::uint32_t> outputs;
  for (const std::size_t result : results) outputs.push_back(r.outputs[result]);
  const auto live = detail::live_nodes(r, results.empty() ? std::span(r.outputs) : std::span(outputs));
  for (std::uint32_t n = 0; n < live.size(); ++n)
    if (live[n] != 0) live_.push_back(n);
}

/// The derivative along the direction in which the inputs move. Steps and conditions have none.
inline double Slopes::tangent_of(std::size_t n) const {
  const TapeNode& node = tape_->node(n);
  const double a = values_[node.a], b = values_[node.b];
  switch (node.op) {
    case TapeOp::min:
      return tangents_[b < a ? node.b : node.a];
    case TapeOp::max:
      return tangents_[a < b ? node.b : node.a];
    case TapeOp::select:
      return tangents_[a != 0 ? node.b : node.c];
    case TapeOp::loop:
      return std::numeric_limits<double>::quiet_NaN();
    default:
      break;
  }
  const auto slopes = detail::slopes_of(node.op, a, b, values_[n]);
  double out = moves_[node.a] != 0 ? slopes.by_a * tangents_[node.a] : 0;
  if (operands_of(node.op) == 2 && moves_[node.b] != 0) out += slopes.by_b * tangents_[node.b];
  return out;
}

inline void Slopes::push(std::size_t n, std::span<const double> in) {
  const Recording& r = tape_->recording();
  const TapeNode& node = r.nodes[n];
  const double a = values_[node.a], b = values_[node.b];
  // Four operations are most of a tape: one branch for each node of these.
  const auto arithmetic = [&](double value, double by_a, double by_b) {
    values_[n] = value;
    moves_[n] = static_cast<std::uint8_t>(moves_[node.a] | moves_[node.b]);
    tangents_[n] = (moves_[node.a] != 0 ? by_a * tangents_[node.a] : 0) +
                   (moves_[node.b] != 0 ? by_b * tangents_[node.b] : 0);
  };
  switch (node.op) {
    case TapeOp::input:
      values_[n] = in[node.a];
      return;
    case TapeOp::constant:
      values_[n] = r.constants[node.a];
      moves_[n] = 0;
      return;
    case TapeOp::add:
      return arithmetic(a + b, 1, 1);
    case TapeOp::subtract:
      return arithmetic(a - b, 1, -1);
    case TapeOp::multiply:
      return arithmetic(a * b, b, a);
    case TapeOp::divide:
      return arithmetic(a / b, 1 / b, -(a / b) / b);
    case TapeOp::loop:
      values_[n] = loop_value(r, node, values_);
      break;
    default:
      values_[n] = compute(node.op, a, b, values_[node.c]);
  }
  std::uint8_t moves = 0;
  for_each_operand(r, node, [&](std::uint32_t o) { moves |= moves_[o]; });
  moves_[n] = moves;
  tangents_[n] = moves != 0 ? tangent_of(n) : 0;
}

void Slopes::run(std::span<const double> in, std::span<const std::size_t> moving) {
  const Recording& r = tape_->recording();
  std::vector<std::uint8_t> wanted(in.size(), moving.empty() ? 1 : 0);
  for (const std::size_t i : moving) wanted[i] = 1;
  for (const std::uint32_t n : live_) {
    push(n, in);
    if (r.nodes[n].op != TapeOp::input) continue;
    const std::size_t i = r.nodes[n].a;
    // Sums and differences of inputs move by numbers of their own too.
    const double along = 1.0 + 0.5 * std::sin(static_cast<double>((i + 1) * (i + 1)));
    moves_[n] = wanted[i];
    tangents_[n] = wanted[i] != 0 ? along * (in[i] != 0 ? std::fabs(in[i]) : 1.0) : 0;
  }
}

/// Whether two numbers that are equal here stay equal to first order.
inline bool Slopes::move_alike(std::uint32_t a, std::uint32_t b) const {
  const double x = tangents_[a], y = tangents_[b];
  return std::fabs(x - y) <= kAlike * std::max(std::fabs(x), std::fabs(y));
}

/// Hands what is known of a node to one of its operands, by the slope between them. What has no slope hands
/// on nothing.
inline void Slopes::pass(std::size_t n, std::uint32_t operand, double slope) {
  if (slope == 0 || moves_[operand] == 0) return;
  if (!std::isfinite(slope)) {
    roughen(operand);
    return;
  }
  adjoints_[operand] += adjoints_[n] * slope;
  marks_[operand] = static_cast<std::uint8_t>(marks_[operand] | (marks_[n] & (kRough | kBeside)));
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
      if (moves_[node.a] == 0) break;
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
      else if (move_alike(node.a, node.b))
        pass(n, node.a, 1.0), look_beside(node.b);
      else
        roughen(node.a), roughen(node.b);
      break;
    }
    // A condition matters to first order only where it is about to change.
    case TapeOp::less:
    case TapeOp::less_equal:
    case TapeOp::equal:
    case TapeOp::not_equal:
      if (a != b) break;
      if (move_alike(node.a, node.b))
        look_beside(node.a), look_beside(node.b);
      else
        roughen(node.a), roughen(node.b);
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
    case TapeOp::add:
      pass(n, node.a, 1), pass(n, node.b, 1);
      break;
    case TapeOp::multiply:
      pass(n, node.a, b), pass(n, node.b, a);
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
  const auto end = std::upper_bound(live_.begin(), live_.end(), from);
  for (auto n = end; n-- != live_.begin();)
    if (moves_[*n] != 0 && (adjoints_[*n] != 0 || marks_[*n] != 0)) pull(*n);
}

}  // namespace mlsysim
