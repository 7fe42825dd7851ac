#include <mlsysim/tape/tangents.hpp>

#include "node_slopes.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace mlsysim {

template <int seed_count>
TangentsOf<seed_count>::TangentsOf(const Tape& tape, std::span<const std::uint32_t> nodes)
    : tape_(&tape),
      nodes_(nodes),
      values_(tape.size()),
      partials_(tape.size() * kSeeds),
      marks_(tape.size()),
      moves_(tape.size()),
      written_(tape.size()) {}

template <int seed_count> void TangentsOf<seed_count>::clear_row(std::size_t n) {
  std::fill_n(row(n), kSeeds, 0.0);
}
template <int seed_count> void TangentsOf<seed_count>::rest(std::size_t n) {
  if (written_[n] == 0) return;
  clear_row(n);
  written_[n] = 0;
}

/// Adds `slope` times the partials of an operand. A seed that does not move it stays still even where the
/// slope is infinite or undefined.
template <int seed_count>
void TangentsOf<seed_count>::chain(std::size_t n, std::uint32_t operand, double slope) {
  const double* const from = row(operand);
  double* const to = row(n);
  if (std::isfinite(slope)) {
    for (int i = 0; i < kSeeds; ++i) to[i] += from[i] * slope;
  } else {
    for (int i = 0; i < kSeeds; ++i) to[i] += from[i] == 0.0 ? 0.0 : from[i] * slope;
  }
}

template <int seed_count>
void TangentsOf<seed_count>::note_step(double x, double rounded, const double* partial, bool up) {
  const auto [above, below] = detail::to_whole(x, rounded, up);
  for (int i = 0; i < kSeeds; ++i) {
    if (partial[i] == 0.0) continue;
    const double ahead = partial[i] > 0 ? above : below, behind = partial[i] > 0 ? below : above;
    const double rate = std::fabs(partial[i]);
    up_[i] = std::min(up_[i], ahead / rate);
    down_[i] = std::min(down_[i], behind / rate);
  }
}

template <int seed_count> void TangentsOf<seed_count>::round(std::size_t n, bool up) {
  const std::uint32_t a = tape_->node(n).a;
  values_[n] = up ? std::ceil(values_[a]) : std::floor(values_[a]);
  Marks m = marks_[a];
  for (int i = 0; i < kSeeds; ++i)
    if (row(a)[i] != 0.0) m.steps |= 1u << i;
  marks_[n] = m;
  clear_row(n);
  note_step(values_[a], values_[n], row(a), up);
}

template <int seed_count>
void TangentsOf<seed_count>::choose(std::size_t n, std::uint32_t a, std::uint32_t b, bool larger) {
  const double x = values_[a], y = values_[b];
  const bool first = larger ? y < x : x < y, second = larger ? x < y : y < x;
  values_[n] = first ? x : y;
  if (first || second) {
    const std::uint32_t from = first ? a : b;
    std::copy_n(row(from), kSeeds, row(n));
    marks_[n] = marks_[from];
    moves_[n] = moves_[from];
    return;
  }
  values_[n] = x;
  marks_[n] = {marks_[a].steps | marks_[b].steps, marks_[a].kinks | marks_[b].kinks};
  for (int i = 0; i < kSeeds; ++i) {
    const double p = row(a)[i], q = row(b)[i];
    row(n)[i] = larger ? std::max(p, q) : std::min(p, q);
    if (p != q) marks_[n].kinks |= 1u << i;
  }
}

/// A condition keeps, instead of steps and kinks, for which seeds it holds after a small move and before one.
template <int seed_count> void TangentsOf<seed_count>::compare(std::size_t n) {
  const TapeNode& node = tape_->node(n);
  const double x = values_[node.a], y = values_[node.b];
  values_[n] = compute(node.op, x, y);
  const bool now = values_[n] != 0;
  marks_[n] = {now ? kAll : 0u, now ? kAll : 0u};
  if (x != y) return;
  std::uint32_t ahead = 0, behind = 0;
  for (int i = 0; i < kSeeds; ++i) {
    const double p = row(node.a)[i], q = row(node.b)[i];
    ahead |= (compute(node.op, p, q) != 0 ? 1u : 0u) << i;
    behind |= (compute(node.op, q, p) != 0 ? 1u : 0u) << i;
  }
  marks_[n] = {ahead, behind};
}

/// `b` where the condition holds, else `c`; where it is about to change, the other's partials or a step. What
/// changes on the other side of the point leaves a bit only.
template <int seed_count> void TangentsOf<seed_count>::pick(std::size_t n) {
  const TapeNode& node = tape_->node(n);
  const bool holds = values_[node.a] != 0;
  const std::uint32_t from = holds ? node.b : node.c, other = holds ? node.c : node.b;
  values_[n] = values_[from];
  marks_[n] = marks_[from];
  std::copy_n(row(from), kSeeds, row(n));
  const Marks& c = marks_[node.a];
  const std::uint32_t soon = holds ? ~c.steps & kAll : c.steps, before = holds ? ~c.kinks & kAll : c.kinks;
  if ((soon | before) == 0) return;
  moves_[n] = 1;
  marks_[n].steps |= marks_[other].steps;
  marks_[n].kinks |= marks_[other].kinks;
  for (int i = 0; i < kSeeds; ++i) {
    if (!bit(soon | before, static_cast<std::size_t>(i))) continue;
    if (values_[other] != values_[n]) {
      marks_[n].steps |= 1u << i;
    } else if (row(other)[i] != row(n)[i]) {
      if (bit(soon, static_cast<std::size_t>(i))) row(n)[i] = row(other)[i];
      marks_[n].kinks |= 1u << i;
    }
  }
}

template <int seed_count> void TangentsOf<seed_count>::run_loop_at(std::size_t n) {
  const TapeLoop& loop = tape_->recording().loops[tape_->node(n).a];
  const std::uint32_t state = tape_->node(n).b;
  const Tape body(loop.body);
  // The body's own inputs are the seeds: round, states and captured values, chunk after chunk, and the chain
  // rule does the rest.
  const std::size_t states = loop.initial.size(), outside = loop.captured.size(),
                    width = 1 + states + outside;
  std::vector<double> in(width), now(states * kSeeds), next(states * kSeeds), next_value(states);
  std::vector<Marks> marks(states);
  for (std::size_t s = 0; s < states; ++s) {
    in[1 + s] = values_[loop.initial[s]];
    marks[s] = marks_[loop.initial[s]];
    std::copy_n(row(loop.initial[s]), kSeeds, now.begin() + static_cast<std::ptrdiff_t>(s * kSeeds));
  }
  Marks handed;
  for (std::size_t k = 0; k < outside; ++k) {
    in[1 + states + k] = values_[loop.captured[k]];
    handed.steps |= marks_[loop.captured[k]].steps;
    handed.kinks |= marks_[loop.captured[k]].kinks;
  }
  Tangents inner(body);
  const double count = values_[loop.count];
  if (!(count <= loop.bound)) {
    std::vector<double> states_in(in.begin() + 1, in.begin() + 1 + static_cast<std::ptrdiff_t>(states));
    run_loop(loop, count, states_in, std::span<const double>(in).subspan(1 + states));  // refuses
  }
  for (double round = 0; round < count; ++round) {
    in[0] = round;
    std::fill(next.begin(), next.end(), 0.0);
    for (std::size_t first = 1; first < width; first += Tangents::kSeeds) {
      std::vector<std::size_t> seeds;
      for (std::size_t i = first; i < std::min(width, first + Tangents::kSeeds); ++i) seeds.push_back(i);
      inner.run(in, seeds, 1.0);
      for (std::size_t s = 0; s < states; ++s) {
        next_value[s] = inner.value(s);
        for (std::size_t k = 0; k < seeds.size(); ++k) {
          const double slope = inner.partial(s, k);
          if (slope == 0) continue;
          const double* const from = seeds[k] <= states ? now.data() + (seeds[k] - 1) * kSeeds
                                                        : row(loop.captured[seeds[k] - 1 - states]);
          for (int i = 0; i < kSeeds; ++i)
            next[s * kSeeds + static_cast<std::size_t>(i)] += from[i] == 0 ? 0 : from[i] * slope;
        }
      }
    }
    for (std::size_t s = 0; s < states; ++s) {
      in[1 + s] = next_value[s];
      marks[s].steps |= handed.steps;
      marks[s].kinks |= handed.kinks;
    }
    now = next;
  }
  values_[n] = in[1 + state];
  std::copy_n(now.begin() + static_cast<std::ptrdiff_t>(state) * kSeeds, kSeeds, row(n));
  marks_[n] = marks[state];
  if (moves_[n] == 0) return;
  // With the count the result changes in steps.
  for (int i = 0; i < kSeeds; ++i)
    if (row(loop.count)[i] != 0.0) marks_[n].steps |= 1u << i;
  note_step(count, std::ceil(count), row(loop.count), true);
}

/// Steps and kinks of the operands. A factor beside a zero moves nothing, whatever steps it takes.
template <int seed_count>
inline void TangentsOf<seed_count>::mark_operands(std::size_t n, const TapeNode& node) {
  const bool product = node.op == TapeOp::multiply;
  marks_[n] = product && values_[node.b] == 0 ? Marks{} : marks_[node.a];
  if (operands_of(node.op) == 2 && !(product && values_[node.a] == 0))
    marks_[n].steps |= marks_[node.b].steps, marks_[n].kinks |= marks_[node.b].kinks;
}

/// Sums, products and quotients are most of a tape: one branch for each node of these.
template <int seed_count>
inline void TangentsOf<seed_count>::arithmetic(std::size_t n, const TapeNode& node, double value, double by_a,
                                               double by_b) {
  values_[n] = value;
  moves_[n] = static_cast<std::uint8_t>(moves_[node.a] | moves_[node.b]);
  if (moves_[n] == 0) {
    marks_[n] = {};
    return rest(n);
  }
  written_[n] = 1;
  mark_operands(n, node);
  clear_row(n);
  if (moves_[node.a] != 0) chain(n, node.a, by_a);
  if (moves_[node.b] != 0) chain(n, node.b, by_b);
}

template <int seed_count> void TangentsOf<seed_count>::step(std::size_t n) {
  const TapeNode& node = tape_->node(n);
  const double a = values_[node.a], b = values_[node.b];
  switch (node.op) {
    case TapeOp::input:
    case TapeOp::constant:
      return;
    case TapeOp::loop:
      return run_loop_at(n);
    case TapeOp::ceil:
      return round(n, true);
    case TapeOp::floor:
      return round(n, false);
    case TapeOp::min:
      return choose(n, node.a, node.b, false);
    case TapeOp::max:
      return choose(n, node.a, node.b, true);
    case TapeOp::less:
    case TapeOp::less_equal:
    case TapeOp::equal:
    case TapeOp::not_equal:
      return compare(n);
    case TapeOp::negation:
      values_[n] = 1.0 - a;
      marks_[n] = {~marks_[node.a].steps & kAll, ~marks_[node.a].kinks & kAll};
      return;
    case TapeOp::both:
      values_[n] = a * b;
      marks_[n] = {marks_[node.a].steps & marks_[node.b].steps, marks_[node.a].kinks & marks_[node.b].kinks};
      return;
    case TapeOp::either:
      values_[n] = std::max(a, b);
      marks_[n] = {marks_[node.a].steps | marks_[node.b].steps, marks_[node.a].kinks | marks_[node.b].kinks};
      return;
    case TapeOp::select:
      return pick(n);
    default:
      break;
  }
  const bool two = operands_of(node.op) == 2;
  const double v = values_[n] = compute(node.op, a, b);
  mark_operands(n, node);
  clear_row(n);
  const bool by_a = moves_[node.a] != 0, by_b = two && moves_[node.b] != 0;
  if (node.op == TapeOp::abs && a == 0) {
    for (int i = 0; i < kSeeds; ++i) {
      row(n)[i] = std::fabs(row(node.a)[i]);
      if (row(node.a)[i] != 0) marks_[n].kinks |= 1u << i;
    }
    return;
  }
  if (node.op == TapeOp::quadrature && v == 0) {  // both are zero: the tip of a cone
    for (int i = 0; i < kSeeds; ++i) {
      row(n)[i] = quadrature(row(node.a)[i], row(node.b)[i]);
      if (row(n)[i] != 0) marks_[n].kinks |= 1u << i;
    }
    return;
  }
  const auto slopes = detail::slopes_of(node.op, a, b, v);
  if (by_a) chain(n, node.a, slopes.by_a);
  if (by_b) chain(n, node.b, slopes.by_b);
}

template <int seed_count>
void TangentsOf<seed_count>::visit(std::size_t n, std::span<const double> in,
                                   std::span<const std::size_t> seeds, double direction) {
  const Recording& r = tape_->recording();
  const TapeNode& node = r.nodes[n];
  if (node.op == TapeOp::input || node.op == TapeOp::constant) {
    values_[n] = node.op == TapeOp::input ? in[node.a] : r.constants[node.a];
    marks_[n] = {};
    moves_[n] = 0;
    rest(n);
    for (std::size_t k = 0; node.op == TapeOp::input && k < seeds.size(); ++k)
      if (seeds[k] == node.a) row(n)[k] = direction, moves_[n] = written_[n] = 1;
    return;
  }
  const double a = values_[node.a], b = values_[node.b];
  if (node.op == TapeOp::add) return arithmetic(n, node, a + b, 1, 1);
  if (node.op == TapeOp::multiply) return arithmetic(n, node, a * b, b, a);
  if (node.op == TapeOp::subtract) return arithmetic(n, node, a - b, 1, -1);
  if (node.op == TapeOp::divide) return arithmetic(n, node, a / b, 1 / b, -(a / b) / b);
  std::uint8_t moves = 0;
  for_each_operand(r, node, [&](std::uint32_t o) { moves |= moves_[o]; });
  moves_[n] = moves;
  if (moves != 0 || node.op == TapeOp::loop) {
    written_[n] = 1;
    return step(n);
  }
  // No operand varies: only the value is needed, and a condition keeps its value under any move.
  values_[n] = compute(node.op, values_[node.a], values_[node.b], values_[node.c]);
  const bool holds = values_[n] != 0;
  marks_[n] = is_condition(node.op) && holds ? Marks{kAll, kAll} : Marks{};
  rest(n);
}

template <int seed_count>
void TangentsOf<seed_count>::run(std::span<const double> in, std::span<const std::size_t> seeds,
                                 double direction) {
  assert(seeds.size() <= kSeeds);
  std::fill(std::begin(up_), std::end(up_), std::numeric_limits<double>::infinity());
  std::fill(std::begin(down_), std::end(down_), std::numeric_limits<double>::infinity());
  if (nodes_.empty())
    for (std::size_t n = 0; n < tape_->size(); ++n) visit(n, in, seeds, direction);
  for (const std::uint32_t n : nodes_) visit(n, in, seeds, direction);
}

template class TangentsOf<1>;
template class TangentsOf<8>;

}  // namespace mlsysim
