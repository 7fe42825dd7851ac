#include "detail/amounts.hpp"

#include <algorithm>

namespace mlsysim {
namespace detail {
namespace {

constexpr std::uint32_t kNone = ~0u;

/// Values by the data that they are a view of, who makes and who uses it.
struct Uses {
  std::vector<std::uint32_t> root, kernel, last;
  std::vector<char> leaves_kernel, weight_leaf;

  explicit Uses(const Program& p)
      : root(p.values.size()),
        kernel(p.values.size(), kNone),
        last(p.values.size(), kNone),
        leaves_kernel(p.values.size(), 0),
        weight_leaf(p.values.size(), 0) {
    std::vector<char> made(p.values.size(), 0);
    for (std::uint32_t v = 0; v < root.size(); ++v) root[v] = v;
    for (const auto& op : p.ops)
      for (const auto r : op.results) {
        made[r] = 1;
        if (op.touch == Touch::none && !op.operands.empty()) root[r] = root[op.operands[0]];
        if (op.touch == Touch::in_place && !op.operands.empty()) root[r] = root[op.operands[0]];
        kernel[root[r]] = works(op) ? op.kernel : kernel[root[r]];
      }
    for (std::uint32_t v = 0; v < root.size(); ++v)
      weight_leaf[v] = made[v] == 0 && p.values[v].role == ValueRole::weight;
    for (std::uint32_t i = 0; i < p.ops.size(); ++i)
      if (works(p.ops[i]))
        for (const auto v : p.ops[i].operands) {
          last[root[v]] = i;
          if (p.ops[i].kernel != kernel[root[v]]) leaves_kernel[root[v]] = 1;
        }
    for (const auto v : p.outputs) {
      last[root[v]] = static_cast<std::uint32_t>(p.ops.size());
      leaves_kernel[root[v]] = 1;
    }
  }
};

/// Bytes that an operator reads of its operand, and writes of its result.
double read_of(const Program& p, const ProgramOp& op, std::size_t i) {
  const double all = p.values[op.operands[i]].type.bytes();
  if (i > 0) return all;
  if (op.touch == Touch::in_place) return 0;
  if (op.touch == Touch::part && !op.results.empty())
    return std::min(all, p.values[op.results[0]].type.bytes());
  return all;
}
double written_of(const Program& p, const ProgramOp& op, std::size_t i) {
  if (op.touch == Touch::in_place && op.operands.size() > 1) {
    // Scatter has its indices before its updates.
    const auto update = op.name.starts_with("scatter") ? op.operands.back() : op.operands[1];
    return p.values[update].type.bytes();
  }
  return p.values[op.results[i]].type.bytes();
}

}  // namespace

bool works(const ProgramOp& op) { return op.touch != Touch::none && op.times > 0; }

std::vector<OpAmounts> amounts_of(const Program& p) {
  const Uses uses(p);
  std::vector<OpAmounts> out(p.ops.size());
  std::vector<std::uint32_t> read_in(p.values.size(), kNone);  // kernel that has read it already
  std::vector<char> seen(p.values.size(), 0), held(p.values.size(), 0);
  double alive = 0;
  const auto hold = [&](std::uint32_t v) {
    const auto r = uses.root[v];
    if (held[r] != 0 || p.values[r].role == ValueRole::weight || p.values[r].role == ValueRole::constant)
      return;
    held[r] = 1;
    alive += p.values[r].type.bytes();
  };
  for (const auto v : p.inputs) hold(v);
  for (std::uint32_t i = 0; i < p.ops.size(); ++i) {
    const auto& op = p.ops[i];
    if (!works(op)) continue;
    auto& a = out[i];
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      const auto v = op.operands[k], r = uses.root[v];
      if (std::find(op.operands.begin(), op.operands.begin() + static_cast<std::ptrdiff_t>(k), v) !=
          op.operands.begin() + static_cast<std::ptrdiff_t>(k))
        continue;
      const auto& value = p.values[v];
      const double bytes = read_of(p, op, k);
      const bool inside = uses.kernel[r] == op.kernel || read_in[r] == op.kernel;
      read_in[r] = op.kernel;
      if (value.role == ValueRole::constant) continue;  // made in the kernel
      if (value.role == ValueRole::weight) {
        a.weights += bytes;
        if (uses.weight_leaf[r] != 0 && seen[r] == 0) {
          a.stored += p.values[r].type.bytes();
          a.stored_elements += p.values[r].type.elements();
          seen[r] = 1;
        }
      } else if (value.type.element->floating) {
        a.reads += bytes;
        if (!inside) a.fused_reads += bytes;
      } else {
        a.others += bytes;
        if (!inside) a.fused_others += bytes;
      }
    }
    for (std::size_t k = 0; k < op.results.size(); ++k) {
      const auto r = uses.root[op.results[k]];
      const double bytes = written_of(p, op, k);
      const bool leaves = uses.leaves_kernel[r] != 0;
      if (p.values[op.results[k]].type.element->floating) {
        a.writes += bytes;
        if (leaves) a.fused_writes += bytes;
      } else {
        a.others += bytes;
        if (leaves) a.fused_others += bytes;
      }
      hold(op.results[k]);
    }
    a.alive = alive;
    const auto drop = [&](std::uint32_t v) {
      const auto r = uses.root[v];
      if (held[r] == 0 || (uses.last[r] != kNone && uses.last[r] > i)) return;
      held[r] = 0;
      alive -= p.values[r].type.bytes();
    };
    for (const auto v : op.operands) drop(v);
    for (const auto v : op.results) drop(v);
  }
  return out;
}

}  // namespace detail

ProgramTotals totals_of(const Program& p) {
  using namespace detail;
  ProgramTotals t;
  const auto amounts = amounts_of(p);
  std::vector<char> kernels;
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    const auto& op = p.ops[i];
    if (!works(op)) continue;
    const auto& a = amounts[i];
    t.operators += op.times;
    if (op.kernel >= kernels.size()) kernels.resize(op.kernel + 1, 0);
    if (std::exchange(kernels[op.kernel], 1) == 0) t.kernels += op.times;
    t.convolutions += op.kind == ListedKind::convolution ? op.times : 0;
    t.products += op.kind == ListedKind::product ? op.times : 0;
    t.macs += op.macs() * op.times;
    t.flops += (2 * op.macs() + op.flops) * op.times;
    t.transcendentals += op.transcendentals * op.times;
    t.weights += a.stored_elements;
    t.weight_bytes += a.stored;
    t.traffic += (a.reads + a.writes + a.weights + a.others) * op.times;
    t.fused_traffic += (a.fused_reads + a.fused_writes + a.weights + a.fused_others) * op.times;
    t.peak_activations = std::max(t.peak_activations, a.alive);
  }
  return t;
}

}  // namespace mlsysim
