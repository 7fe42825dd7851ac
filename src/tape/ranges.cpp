#include <mlsysim/tape/ranges.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlsysim {
namespace {

constexpr double inf = Interval::inf;

/// A condition as a range of {0, 1}.
Interval truth(const Undecided& u) { return {u.can_fail ? 0.0 : 1.0, u.can_hold ? 1.0 : 0.0}; }

/// States that a loop may stop at, over a range of counts.
Interval loop_range(const TapeLoop& loop, std::uint32_t state, std::span<const Interval> range) {
  const Interval count = range[loop.count];
  if (!(count.high <= loop.bound)) return Interval::whole();
  std::vector<Interval> states, in(1 + loop.initial.size() + loop.captured.size()),
      now(loop.body.nodes.size());
  for (const auto x : loop.initial) states.push_back(range[x]);
  for (std::size_t i = 0; i < loop.captured.size(); ++i) in[1 + states.size() + i] = range[loop.captured[i]];
  for (double round = 0; round < count.high; ++round) {
    in[0] = Interval(round);
    std::copy(states.begin(), states.end(), in.begin() + 1);
    for (std::size_t n = 0; n < now.size(); ++n)
      now[n] = detail::range_of(loop.body, loop.body.nodes[n], now, in);
    for (std::size_t i = 0; i < states.size(); ++i) {
      const Interval& next = now[loop.body.outputs[i]];
      states[i] = round < count.low ? next : hull(states[i], next);
    }
  }
  return states[state];
}

/// Here, so that the walk over a tape has it in its loop.
inline Interval node_range(const Recording& r, const TapeNode& node, std::span<const Interval> range,
                           std::span<const Interval> box) {
  const auto a = [&]() -> const Interval& { return range[node.a]; };
  const auto b = [&]() -> const Interval& { return range[node.b]; };
  switch (node.op) {
    case TapeOp::input:
      return box[node.a];
    case TapeOp::constant:
      return r.constants[node.a];
    case TapeOp::loop:
      return loop_range(r.loops[node.a], node.b, range);
    case TapeOp::negate:
      return -a();
    case TapeOp::abs:
      return abs(a());
    case TapeOp::ceil:
      return ceil(a());
    case TapeOp::floor:
      return floor(a());
    case TapeOp::sqrt:
      return sqrt(a());
    case TapeOp::log:
      return log(a());
    case TapeOp::log2:
      return log2(a());
    case TapeOp::exp:
      return exp(a());
    case TapeOp::negation:
      return 1.0 - a();
    case TapeOp::add:
      return a() + b();
    case TapeOp::subtract:
      return a() - b();
    case TapeOp::multiply:
      return node.a == node.b && a().low < 0 ? abs(a()) * abs(a()) : a() * b();
    case TapeOp::divide:
      return a() / b();
    case TapeOp::min:
      return min(a(), b());
    case TapeOp::max:
      return max(a(), b());
    case TapeOp::pow:
      return pow(a(), b());
    case TapeOp::quadrature:
      return quadrature(a(), b());
    case TapeOp::less:
      return truth(a() < b());
    case TapeOp::less_equal:
      return truth(a() <= b());
    case TapeOp::equal:
      return truth(a() == b());
    case TapeOp::not_equal:
      return truth(a() != b());
    case TapeOp::both:
      return min(a(), b());
    case TapeOp::either:
      return max(a(), b());
    case TapeOp::select: {
      const Interval& c = range[node.c];
      if (a().low != 0) return b();
      return a().high == 0 ? c : hull(b(), c);
    }
  }
  return Interval::whole();
}

}  // namespace

namespace detail {

Interval range_of(const Recording& r, const TapeNode& node, std::span<const Interval> range,
                  std::span<const Interval> box) {
  return node_range(r, node, range, box);
}

}  // namespace detail

Ranges::Ranges(const Tape& tape)
    : tape_(&tape),
      range_(tape.size()),
      adjoint_(tape.size()),
      partial_(tape.inputs()),
      trend_(tape.inputs()) {}

void Ranges::run(std::span<const Interval> box) {
  const Recording& r = tape_->recording();
  for (std::size_t n = 0; n < r.nodes.size(); ++n) range_[n] = node_range(r, r.nodes[n], range_, box);
}

namespace {

/// Slope of `min` (or, with operands exchanged, of `max`) by its first operand.
Interval taken(const Interval& a, const Interval& b) {
  if (a.high < b.low) return 1.0;
  if (b.high < a.low) return 0.0;
  return {0.0, 1.0};
}

/// A product of partial derivatives. One that is too small for a double keeps its sign: otherwise a result
/// that changes would be reported as constant.
Interval product(const Interval& a, const Interval& b) {
  constexpr double tiny = std::numeric_limits<double>::denorm_min();
  Interval p = a * b;
  if (p.low == 0 && ((a.low < 0 && b.high > 0) || (a.high > 0 && b.low < 0))) p.low = -tiny;
  if (p.high == 0 && ((a.high > 0 && b.high > 0) || (a.low < 0 && b.low < 0))) p.high = tiny;
  return p;
}

/// Slope of a root of a sum of squares by one of its sides: that side over the root, at most 1 in size.
Interval share_of_root(const Interval& side, const Interval& root) {
  const Interval q = side / root;
  return Interval(std::max(q.low, -1.0), std::min(q.high, 1.0));
}

Interval slope_of_abs(const Interval& x) {
  if (x.low >= 0) return 1.0;
  if (x.high <= 0) return -1.0;
  return {-1.0, 1.0};
}

/// Partial derivatives of a node by its operands over their ranges, handed to `give(operand, partial)`.
template <class Give>
void partials_of(const Recording& r, std::size_t at, std::span<const Interval> range, Give&& give) {
  const TapeNode& node = r.nodes[at];
  const Interval& value = range[at];
  const auto a = [&]() -> const Interval& { return range[node.a]; };
  const auto b = [&]() -> const Interval& { return range[node.b]; };
  const auto both = [&](const Interval& by_a, const Interval& by_b) {
    give(node.a, by_a), give(node.b, by_b);
  };
  switch (node.op) {
    case TapeOp::input:
    case TapeOp::constant:
      return;
    case TapeOp::loop:
      return for_each_operand(r, node, [&](std::uint32_t o) { give(o, Interval::whole()); });
    case TapeOp::negate:
    case TapeOp::negation:
      return give(node.a, -1.0);
    case TapeOp::abs:
      return give(node.a, slope_of_abs(a()));
    case TapeOp::ceil:
    case TapeOp::floor:
      return give(node.a, value.low == value.high ? Interval(0.0) : Interval(0.0, inf));
    case TapeOp::sqrt:
      return give(node.a, Interval(0.5) / value);
    case TapeOp::log:
      return give(node.a, Interval(1.0) / a());
    case TapeOp::log2:
      return give(node.a, Interval(1.4426950408889634) / a());
    case TapeOp::exp:
      return give(node.a, value);
    case TapeOp::add:
      return both(1.0, 1.0);
    case TapeOp::subtract:
      return both(1.0, -1.0);
    case TapeOp::multiply:
    case TapeOp::both:
      return both(b(), a());
    case TapeOp::divide:
      return both(Interval(1.0) / b(), -product(value, Interval(1.0) / b()));
    case TapeOp::min:
      return both(taken(a(), b()), taken(b(), a()));
    case TapeOp::max:
      return both(taken(-a(), -b()), taken(-b(), -a()));
    case TapeOp::pow:
      if (a().low > 0) return both(product(b(), pow(a(), b() - 1.0)), product(value, log(a())));
      return both(Interval::whole(), Interval::whole());
    case TapeOp::quadrature:
      return both(share_of_root(a(), value), share_of_root(b(), value));
    // A condition that flips is a jump: down where the left side rises, up where the right side does.
    case TapeOp::less:
    case TapeOp::less_equal:
      if (value.low != value.high) both(Interval(-inf, 0.0), Interval(0.0, inf));
      return;
    case TapeOp::equal:
    case TapeOp::not_equal:
      if (value.low != value.high) both(Interval::whole(), Interval::whole());
      return;
    case TapeOp::either:
      return both(1.0 - b(), 1.0 - a());
    case TapeOp::select:
      if (a().low != a().high) give(node.a, b() - range[node.c]);
      give(node.b, a()), give(node.c, 1.0 - a());
      return;
  }
}

Trend trend_of(const Interval& partial) {
  if (partial.low == 0 && partial.high == 0) return Trend::constant;
  if (partial.low >= 0) return Trend::rising;
  return partial.high <= 0 ? Trend::falling : Trend::unknown;
}

}  // namespace

void Ranges::reverse(std::size_t result) {
  const Recording& r = tape_->recording();
  std::fill(adjoint_.begin(), adjoint_.end(), Interval(0.0));
  std::fill(partial_.begin(), partial_.end(), Interval(0.0));
  adjoint_[tape_->output(result)] = Interval(1.0);
  for (std::size_t n = tape_->output(result) + 1; n-- > 0;) {
    const Interval& adjoint = adjoint_[n];
    if (adjoint.low == 0 && adjoint.high == 0) continue;
    if (r.nodes[n].op == TapeOp::input) partial_[r.nodes[n].a] += adjoint;
    partials_of(r, n, range_, [&](std::uint32_t operand, const Interval& slope) {
      // The slope with respect to an operand that does not vary is not needed.
      if (range_[operand].low == range_[operand].high) return;
      adjoint_[operand] += product(adjoint, slope);
    });
  }
}

std::span<const Interval> Ranges::partials(std::size_t result) {
  reverse(result);
  return partial_;
}

std::span<const Trend> Ranges::trends(std::size_t result) {
  reverse(result);
  for (std::size_t i = 0; i < partial_.size(); ++i) trend_[i] = trend_of(partial_[i]);
  return trend_;
}

double Ranges::at_ends(std::size_t result, std::span<const Interval> box, bool upper) {
  ends_.assign(box.begin(), box.end());
  bool any = false;
  for (std::size_t i = 0; i < box.size(); ++i) {
    if (box[i].low == box[i].high || trend_[i] == Trend::unknown) continue;
    any = true;
    ends_[i] = Interval(upper == (trend_[i] != Trend::falling) ? box[i].high : box[i].low);
  }
  if (!any) return std::numeric_limits<double>::quiet_NaN();
  run(ends_);
  return upper ? this->result(result).high : this->result(result).low;
}

// The ends are outer bounds themselves; "not a number" at one of them leaves what was known.

double Ranges::tight_low(std::size_t result, std::span<const Interval> box) {
  const double outer = this->result(result).low;
  static_cast<void>(trends(result));
  const double low = at_ends(result, box, false);
  return low >= outer ? low : outer;
}

double Ranges::tight_high(std::size_t result, std::span<const Interval> box) {
  const double outer = this->result(result).high;
  static_cast<void>(trends(result));
  const double high = at_ends(result, box, true);
  return high <= outer ? high : outer;
}

Interval Ranges::tight(std::size_t result, std::span<const Interval> box) {
  run(box);
  const Interval outer = this->result(result);
  static_cast<void>(trends(result));
  const double low = at_ends(result, box, false), high = at_ends(result, box, true);
  return {low >= outer.low ? low : outer.low, high <= outer.high ? high : outer.high};
}

}  // namespace mlsysim
