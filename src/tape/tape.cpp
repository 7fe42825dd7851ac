#include <mlsysim/tape/tape.hpp>

#include "transplant.hpp"

#include <algorithm>
#include <cassert>

namespace mlsysim {

Tape::Tape(Recording recording) : r_(std::move(recording)) {}

void Tape::evaluate(std::span<const double> in, std::span<double> values) const { run_nodes(r_, in, values); }

void Tape::evaluate(std::span<const double> in, std::span<double> out, std::vector<double>& values) const {
  values.resize(size());
  evaluate(in, values);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = values[r_.outputs[i]];
}

std::vector<double> Tape::operator()(std::span<const double> in) const {
  std::vector<double> values, out(results());
  evaluate(in, out, values);
  return out;
}

namespace {

/// Walks a tape with `Recorded`; node by node, so that a caller may replace values on the way.
class Replay {
 public:
  explicit Replay(const Recording& from)
      : from_(from), now_(from.nodes.size()), loops_(from.loops.size(), kNotYet) {}

  void set(std::size_t node, const Recorded& x) { now_[node] = x; }
  [[nodiscard]] const Recorded& at(std::size_t node) const { return now_[node]; }

  [[nodiscard]] Recorded step(std::size_t n, std::span<const Recorded> in) {
    const TapeNode& node = from_.nodes[n];
    switch (node.op) {
      case TapeOp::input:
        return in[node.a];
      case TapeOp::constant:
        return from_.constants[node.a];
      case TapeOp::loop:
        return loop_state(node);
      default:
        break;
    }
    switch (operands_of(node.op)) {
      case 1:
        return detail::record(node.op, now_[node.a]);
      case 2:
        return detail::record(node.op, now_[node.a], now_[node.b]);
      default:
        return detail::record(node.op, now_[node.a], now_[node.b], now_[node.c]);
    }
  }

 private:
  static constexpr std::uint32_t kNotYet = ~std::uint32_t{0};

  Recorded loop_state(const TapeNode& node) {
    Recorder* const to = Recorder::current();
    assert(to != nullptr);
    if (loops_[node.a] == kNotYet) {
      TapeLoop loop = from_.loops[node.a];
      const auto move = [&](std::uint32_t& x) { x = to->node_of(now_[x]); };
      move(loop.count);
      for (auto& x : loop.initial) move(x);
      for (auto& x : loop.captured) move(x);
      loops_[node.a] = to->add_loop(std::move(loop));
    }
    return to->loop_state(loops_[node.a], node.b);
  }

  const Recording& from_;
  std::vector<Recorded> now_;
  std::vector<std::uint32_t> loops_;
};

/// Copies a recording without the nodes that none of `outputs` depends on. Inputs stay.
Recording compacted(const Recording& r, std::span<const std::uint32_t> outputs) {
  const auto live = detail::live_nodes(r, outputs);
  detail::Transplant out(r);
  for (std::size_t n = 0; n < r.nodes.size(); ++n) {
    if (r.nodes[n].op == TapeOp::input)
      out.make_input(n);
    else if (live[n] != 0)
      out.copy(n);
  }
  for (const auto o : outputs) out.make_output(o);
  return out.finish();
}

/// Where the ranges of its operands decide a node: the number or operand that it always equals.
std::optional<Recorded> decided(const TapeNode& node, std::span<const Interval> range, const Replay& now) {
  const auto& a = range[node.a];
  const auto& b = range[node.b];
  switch (node.op) {
    case TapeOp::less:
      if (a.high < b.low) return Recorded(1.0);
      if (a.low >= b.high) return Recorded(0.0);
      break;
    case TapeOp::less_equal:
      if (a.high <= b.low) return Recorded(1.0);
      if (a.low > b.high) return Recorded(0.0);
      break;
    case TapeOp::min:
      if (a.high <= b.low) return now.at(node.a);
      if (b.high < a.low) return now.at(node.b);
      break;
    case TapeOp::max:
      if (a.low >= b.high) return now.at(node.a);
      if (a.high < b.low) return now.at(node.b);
      break;
    default:
      break;
  }
  return std::nullopt;
}

}  // namespace

Tape reduced(const Tape& tape, const TapeReduction& known) {
  const Recording& r = tape.recording();
  std::vector<std::uint32_t> wanted;
  if (known.all && known.results.empty()) wanted = r.outputs;
  for (const auto i : known.results) wanted.push_back(r.outputs[i]);
  if (known.box.empty() && !known.inputs &&
      std::none_of(known.fixed.begin(), known.fixed.end(), [](const auto& x) { return x.has_value(); }))
    return Tape(compacted(r, wanted));
  Recorder recorder;
  std::vector<Recorded> in(r.inputs);
  std::vector<Interval> box(known.box.begin(), known.box.end());
  if (known.inputs)
    for (const std::size_t i : *known.inputs) in[i] = recorder.input();
  else
    for (Recorded& x : in) x = recorder.input();
  for (std::size_t i = 0; i < known.fixed.size(); ++i) {
    if (!known.fixed[i]) continue;
    in[i] = Recorded(*known.fixed[i]);
    if (!box.empty()) box[i] = Interval(*known.fixed[i]);
  }
  // Nodes that are not needed are not visited.
  const auto live = detail::live_nodes(r, wanted);
  Replay now(r);
  std::vector<Interval> range(box.empty() ? 0 : r.nodes.size());
  for (std::size_t n = 0; n < r.nodes.size(); ++n) {
    if (live[n] == 0) continue;
    std::optional<Recorded> simple;
    if (!box.empty()) {
      range[n] = detail::range_of(r, r.nodes[n], range, box);
      simple = decided(r.nodes[n], range, now);
    }
    now.set(n, simple ? *simple : now.step(n, in));
  }
  std::vector<Recorded> out;
  for (const auto o : wanted) out.push_back(now.at(o));
  const Recording whole = recorder.finish(out);
  return Tape(compacted(whole, whole.outputs));
}

std::vector<Recorded> replay(const Tape& tape, std::span<const Recorded> in) {
  const Recording& r = tape.recording();
  Replay now(r);
  for (std::size_t n = 0; n < r.nodes.size(); ++n) now.set(n, now.step(n, in));
  std::vector<Recorded> out;
  for (const auto o : r.outputs) out.push_back(now.at(o));
  return out;
}

Tape joined(const Tape& before, const Tape& after, std::span<const std::size_t> wiring) {
  return record_tape(before.inputs(), [&](std::span<const Recorded> in) {
    const auto between = replay(before, in);
    std::vector<Recorded> given;
    for (const auto w : wiring) given.push_back(w < between.size() ? between[w] : in[w - between.size()]);
    return replay(after, given);
  });
}

}  // namespace mlsysim
