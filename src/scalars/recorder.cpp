#include <mlsysim/scalars/recorder.hpp>

#include <mlsysim/scalars/loops.hpp>

#include <algorithm>
#include <bit>
#include <cassert>

namespace mlsysim {
namespace {

constinit thread_local Recorder* current_recorder = nullptr;

std::uint64_t hash_of(const TapeNode& n) {
  constexpr std::uint64_t prime = 0xff51afd7ed558ccdu;
  std::uint64_t h = (n.a | std::uint64_t{n.b} << 32) * prime;
  h = (h ^ h >> 32 ^ n.c ^ static_cast<std::uint64_t>(n.op) << 40) * prime;
  return h ^ h >> 32;
}

bool same(const TapeNode& x, const TapeNode& y) {
  return x.op == y.op && x.a == y.a && x.b == y.b && x.c == y.c;
}

/// Equal constants are found by their bits.
TapeNode constant_key(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return {TapeOp::constant, static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32), 0};
}

bool is(const Recorded& x, double value) { return x.is_constant() && x.value == value; }

/// Folds an operation to a constant or an operand; empty where it needs a node of its own.
std::optional<Recorded> without_node(TapeOp op, const Recorded& a, const Recorded& b, const Recorded& c) {
  const int operands = operands_of(op);
  if (a.is_constant() && (operands < 2 || b.is_constant()) && (operands < 3 || c.is_constant()))
    return Recorded(compute(op, a.value, b.value, c.value));
  switch (op) {
    case TapeOp::add:
      if (is(a, 0)) return b;
      if (is(b, 0)) return a;
      break;
    case TapeOp::subtract:
      if (is(b, 0)) return a;
      break;
    case TapeOp::multiply:
      if (is(a, 0) || is(b, 0)) return Recorded(0.0);
      if (is(a, 1)) return b;
      if (is(b, 1)) return a;
      break;
    case TapeOp::divide:
      if (is(b, 1)) return a;
      if (is(a, 0)) return Recorded(0.0);
      break;
    case TapeOp::min:
    case TapeOp::max:
      if (identical(a, b)) return a;
      break;
    case TapeOp::both:
      if (is(a, 0) || is(b, 0)) return Recorded(0.0);
      if (is(a, 1) || identical(a, b)) return b;
      if (is(b, 1)) return a;
      break;
    case TapeOp::either:
      if (is(a, 1) || is(b, 1)) return Recorded(1.0);
      if (is(a, 0) || identical(a, b)) return b;
      if (is(b, 0)) return a;
      break;
    case TapeOp::less:
    case TapeOp::not_equal:
      if (identical(a, b)) return Recorded(0.0);
      break;
    case TapeOp::less_equal:
    case TapeOp::equal:
      if (identical(a, b)) return Recorded(1.0);
      break;
    case TapeOp::select:
      if (a.is_constant()) return a.value != 0 ? b : c;
      if (identical(b, c)) return b;
      break;
    default:
      break;
  }
  return std::nullopt;
}

}  // namespace

Recorder::Recorder()
    : before_(current_recorder), depth_(before_ == nullptr ? 1 : before_->depth_ + 1), table_(1024) {
  current_recorder = this;
}
Recorder::~Recorder() { current_recorder = before_; }

Recorder* Recorder::current() { return current_recorder; }

Recorded Recorder::input() {
  const TapeNode node{TapeOp::input, out_.inputs++};
  return Recorded::at(shared(node, node), depth_);
}

std::uint32_t Recorder::node_of(const Recorded& x) {
  if (x.depth == depth_) return x.node;
  if (x.is_constant()) {
    // Constants are few: equal ones are found by their bits, through the table.
    const auto at = static_cast<std::uint32_t>(out_.constants.size());
    const std::uint32_t node = shared(constant_key(x.value), {TapeOp::constant, at});
    if (out_.nodes[node].a == at) out_.constants.push_back(x.value);
    return node;
  }
  assert(x.depth < depth_ && "a value of a loop's body has left its loop");
  for (std::size_t i = 0; i < captured_.size(); ++i)
    if (identical(captured_[i], x)) return capture_nodes_[i];
  captured_.push_back(x);
  capture_nodes_.push_back(input().node);
  return capture_nodes_.back();
}

TapeNode Recorder::key_of(TapeNode n) const {
  if (n.op == TapeOp::constant) return constant_key(out_.constants[n.a]);
  if (commutes(n.op) && n.b < n.a) std::swap(n.a, n.b);
  return n;
}

std::uint32_t Recorder::shared(const TapeNode& key, const TapeNode& node) {
  if (2 * (out_.nodes.size() + 1) > table_.size()) grow_table();
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = hash_of(key) & mask;; at = (at + 1) & mask) {
    if (table_[at] == 0) {
      table_[at] = static_cast<std::uint32_t>(out_.nodes.size()) + 1;
      out_.nodes.push_back(node);
      return table_[at] - 1;
    }
    const TapeNode& there = out_.nodes[table_[at] - 1];
    if (there.op == key.op && same(key_of(there), key)) return table_[at] - 1;
  }
}

void Recorder::grow_table() {
  table_.assign(table_.size() * 4, 0);
  out_.nodes.reserve(table_.size() / 2);  // pages that are not reached cost nothing
  const std::size_t mask = table_.size() - 1;
  for (std::uint32_t n = 0; n < out_.nodes.size(); ++n) {
    std::size_t at = hash_of(key_of(out_.nodes[n])) & mask;
    while (table_[at] != 0) at = (at + 1) & mask;
    table_[at] = n + 1;
  }
}

Recorded Recorder::add(TapeOp op, const Recorded& a, const Recorded& b, const Recorded& c) {
  if (const auto simple = without_node(op, a, b, c)) return *simple;
  const int operands = operands_of(op);
  const TapeNode node{op, node_of(a), operands > 1 ? node_of(b) : 0, operands > 2 ? node_of(c) : 0};
  return Recorded::at(shared(key_of(node), node), depth_);
}

void Recorder::name(std::string_view name, const Recorded& x) {
  if (x.depth == depth_) out_.names.push_back({x.node, call_, name});
}

std::uint32_t Recorder::begin_call(const LawShape* law, std::span<const Recorded> inputs,
                                   std::size_t results) {
  TapeCall call{law, static_cast<std::uint32_t>(out_.call_values.size()),
                static_cast<std::uint16_t>(inputs.size()), static_cast<std::uint16_t>(results), call_};
  for (const Recorded& x : inputs) {
    const auto node = node_of(x);
    out_.call_values.push_back(node);
  }
  out_.call_values.resize(out_.call_values.size() + results);
  out_.calls.push_back(call);
  return call_ = static_cast<std::uint32_t>(out_.calls.size());
}

void Recorder::end_call(std::uint32_t call, std::span<const Recorded> results) {
  const TapeCall& c = out_.calls[call - 1];
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto node = node_of(results[i]);
    out_.call_values[c.first + c.inputs + i] = node;
  }
}

void Recorder::leave_call(std::uint32_t call) { call_ = out_.calls[call - 1].parent; }

Recording Recorder::finish(std::span<const Recorded> outputs) {
  out_.outputs.clear();
  for (const Recorded& x : outputs) {
    const auto node = node_of(x);
    out_.outputs.push_back(node);
  }
  Recording out = std::move(out_);
  out_ = {};
  return out;
}

std::uint32_t Recorder::add_loop(TapeLoop loop) {
  out_.loops.push_back(std::move(loop));
  return static_cast<std::uint32_t>(out_.loops.size() - 1);
}

Recorded Recorder::loop_state(std::uint32_t loop, std::uint32_t state) {
  const TapeNode node{TapeOp::loop, loop, state};
  return Recorded::at(shared(node, node), depth_);
}

LoopRecorder::LoopRecorder(const Recorded& count, std::span<const Recorded> initial, int bound)
    : count_(count),
      initial_(initial.begin(), initial.end()),
      bound_(bound),
      body_(std::in_place),
      round_(body_->input()) {
  for (std::size_t i = 0; i < initial_.size(); ++i) states_.push_back(body_->input());
}

std::vector<Recorded> LoopRecorder::finish(std::span<const Recorded> next) {
  TapeLoop loop{.count = 0, .bound = bound_, .initial = {}, .captured = {}, .body = body_->finish(next)};
  const std::vector<Recorded> captured(body_->captured().begin(), body_->captured().end());
  body_.reset();
  Recorder* const outer = Recorder::current();
  assert(outer != nullptr);
  const auto nodes_of = [&](std::span<const Recorded> values) {
    std::vector<std::uint32_t> nodes;
    for (const Recorded& x : values) nodes.push_back(outer->node_of(x));
    return nodes;
  };
  loop.count = outer->node_of(count_);
  loop.initial = nodes_of(initial_);
  loop.captured = nodes_of(captured);
  const std::uint32_t at = outer->add_loop(std::move(loop));
  std::vector<Recorded> out;
  for (std::uint32_t i = 0; i < initial_.size(); ++i) out.push_back(outer->loop_state(at, i));
  return out;
}

void run_nodes(const Recording& r, std::span<const double> in, std::span<double> values) {
  const TapeNode* const nodes = r.nodes.data();
  double* const v = values.data();
  for (std::size_t n = 0; n < r.nodes.size(); ++n) {
    const TapeNode& node = nodes[n];
    const auto a = [&] { return v[node.a]; };
    const auto b = [&] { return v[node.b]; };
    // The commonest by name, because one predicted jump is most of the cost of an operation.
    switch (node.op) {
      case TapeOp::input:
        v[n] = in[node.a];
        break;
      case TapeOp::constant:
        v[n] = r.constants[node.a];
        break;
      case TapeOp::add:
        v[n] = a() + b();
        break;
      case TapeOp::subtract:
        v[n] = a() - b();
        break;
      case TapeOp::multiply:
        v[n] = a() * b();
        break;
      case TapeOp::divide:
        v[n] = a() / b();
        break;
      case TapeOp::min:
        v[n] = b() < a() ? b() : a();
        break;
      case TapeOp::max:
        v[n] = a() < b() ? b() : a();
        break;
      case TapeOp::select:
        v[n] = v[v[node.a] != 0.0 ? node.b : node.c];
        break;
      case TapeOp::loop: {
        const TapeLoop& loop = r.loops[node.a];
        std::vector<double> states, captured;
        for (const auto x : loop.initial) states.push_back(v[x]);
        for (const auto x : loop.captured) captured.push_back(v[x]);
        run_loop(loop, v[loop.count], states, captured);
        v[n] = states[node.b];
        break;
      }
      default:
        v[n] = compute(node.op, a(), b(), 0.0);
    }
  }
}

void run_loop(const TapeLoop& loop, double count, std::span<double> states,
              std::span<const double> captured) {
  if (!(count <= loop.bound)) detail::refuse_repeat(count, loop.bound);
  std::vector<double> in(1 + states.size() + captured.size()), values(loop.body.nodes.size());
  std::copy(captured.begin(), captured.end(), in.begin() + static_cast<std::ptrdiff_t>(1 + states.size()));
  for (double round = 0; round < count; ++round) {
    in[0] = round;
    std::copy(states.begin(), states.end(), in.begin() + 1);
    run_nodes(loop.body, in, values);
    for (std::size_t i = 0; i < states.size(); ++i) states[i] = values[loop.body.outputs[i]];
  }
}

namespace detail {

namespace {
Recorder& recorder_for() {
  Recorder* const r = Recorder::current();
  assert(r != nullptr && "a recorded value has outlived its recording");
  return *r;
}
}  // namespace

Recorded record(TapeOp op, const Recorded& a) {
  if (a.is_constant()) return compute(op, a.value);
  return recorder_for().add(op, a, a, a);
}
Recorded record(TapeOp op, const Recorded& a, const Recorded& b) {
  if (a.is_constant() && b.is_constant()) return compute(op, a.value, b.value);
  return recorder_for().add(op, a, b, b);
}
Recorded record(TapeOp op, const Recorded& a, const Recorded& b, const Recorded& c) {
  if (const auto simple = without_node(op, a, b, c)) return *simple;
  return recorder_for().add(op, a, b, c);
}
void record_name(std::string_view name, const Recorded& x) {
  if (x.is_constant()) return;
  if (Recorder* const r = Recorder::current()) r->name(name, x);
}

}  // namespace detail
}  // namespace mlsysim
