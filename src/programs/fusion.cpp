// What of a program runs as one kernel, and sums over it.

#include "detail/builder.hpp"

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace detail {
namespace {

bool is_product(const ProgramOp& op) {
  return op.kind == ListedKind::product || op.kind == ListedKind::convolution;
}

}  // namespace

/// An element-wise operator joins the last kernel that makes one of its operands, unless what it takes is the
/// result of a reduction, which must be whole before anybody reads it. A reduction ends a chain of
/// element-wise operators. A product takes element-wise operators on its result along. Joining the last of
/// the kernels never makes two kernels wait for each other.
void fuse(Program& p) {
  constexpr std::uint32_t none = ~0u;
  std::vector<std::uint32_t> maker(p.values.size(), none);
  std::vector<std::uint32_t> head;  // of each kernel
  for (std::uint32_t i = 0; i < p.ops.size(); ++i) {
    auto& op = p.ops[i];
    op.kernel = none;
    if (op.touch == Touch::none) {  // a view belongs to whoever made the data
      if (!op.operands.empty() && maker[op.operands[0]] != none)
        op.kernel = p.ops[maker[op.operands[0]]].kernel;
      for (const auto r : op.results) maker[r] = op.operands.empty() ? none : maker[op.operands[0]];
      continue;
    }
    const bool chains = op.kind == ListedKind::pointwise || op.kind == ListedKind::reduction;
    std::uint32_t last = none;
    for (const auto v : op.operands)
      if (maker[v] != none) {
        const auto kernel = p.ops[maker[v]].kernel;
        last = last == none ? kernel : std::max(last, kernel);
      }
    if (chains && last != none) {
      bool joins = true;
      for (const auto v : op.operands) {
        if (maker[v] == none || p.ops[maker[v]].kernel != last) continue;
        const auto& from = p.ops[maker[v]];
        joins = joins && from.kind != ListedKind::reduction && from.times == op.times;
        if (from.kind == ListedKind::movement && from.touch != Touch::part) joins = false;
      }
      const auto& first = p.ops[head[last]];
      if (is_product(first) && op.kind == ListedKind::reduction) joins = false;
      if (is_product(first) && !op.results.empty() && !first.results.empty() &&
          p.values[op.results[0]].type.elements() != p.values[first.results[0]].type.elements())
        joins = false;
      if (joins) op.kernel = last;
    }
    if (op.kernel == none) {
      op.kernel = static_cast<std::uint32_t>(head.size());
      head.push_back(i);
    }
    for (const auto r : op.results) maker[r] = i;
  }
}

void finish(Program& p) { fuse(p); }

}  // namespace detail

const ElementType& main_format(const Program& p) {
  std::vector<std::pair<const ElementType*, std::pair<double, double>>> sums;  // work, bytes
  const auto add = [&](const ElementType* e, double work, double bytes) {
    if (!e->floating) return;
    auto at = std::find_if(sums.begin(), sums.end(), [&](const auto& s) { return s.first == e; });
    if (at == sums.end()) at = sums.insert(sums.end(), {e, {0, 0}});
    at->second.first += work;
    at->second.second += bytes;
  };
  for (const auto& op : p.ops)
    for (std::size_t i = 0; i < std::min<std::size_t>(op.operands.size(), 2); ++i) {
      const auto& t = p.values[op.operands[i]].type;
      add(t.element, op.macs() * op.times, t.bytes());
    }
  const ElementType* best = &element_type("f32");
  std::pair<double, double> most{-1, -1};
  for (const auto& [e, sum] : sums)
    if (sum > most) most = sum, best = e;
  return *best;
}

}  // namespace mlsysim
