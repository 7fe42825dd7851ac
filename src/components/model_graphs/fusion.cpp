// Groups the operators of a program into fused kernels, and finds its main number format.

#include "detail/builder.hpp"

#include <algorithm>

namespace mlsysim {
namespace detail {
namespace {

bool is_product(const ProgramOp& op) {
  return op.kind == ListedKind::product || op.kind == ListedKind::convolution;
}

/// An element-wise operator joins the last kernel that makes one of its operands, unless what it takes is the
/// result of a reduction, which must be whole before anybody reads it. A reduction ends a chain of
/// element-wise operators. A product takes element-wise operators on its result along. What only spreads or
/// converts values is done where it is first used. Joining the last of the kernels never makes two kernels
/// wait for each other.
class Fusion {
 public:
  explicit Fusion(Program& program) : p_(program), maker_(program.values.size(), kNone) {}

  void run() {
    for (std::uint32_t i = 0; i < p_.ops.size(); ++i) {
      auto& op = p_.ops[i];
      op.kernel = kNone;
      if (op.touch == Touch::none) {  // a view belongs to whoever made the data
        for (const auto r : op.results) maker_[r] = op.operands.empty() ? kNone : maker_[op.operands[0]];
        continue;
      }
      for (const auto r : op.results) maker_[r] = i;
      if (waits(op)) continue;
      place(i);
    }
    // A conversion or broadcast that is unused, or that only views use, is a kernel of its own.
    for (std::uint32_t i = 0; i < p_.ops.size(); ++i)
      if (p_.ops[i].kernel == kNone && p_.ops[i].touch != Touch::none) begin(i);
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;

  static bool chains(const ProgramOp& op) {
    return op.kind == ListedKind::pointwise || op.kind == ListedKind::reduction;
  }
  /// Spreads or converts: no arithmetic of its own.
  static bool waits(const ProgramOp& op) {
    return op.kind == ListedKind::pointwise && op.flops == 0 && op.transcendentals == 0;
  }
  void begin(std::uint32_t i) {
    p_.ops[i].kernel = static_cast<std::uint32_t>(head_.size());
    head_.push_back(i);
  }

  /// Calls with every operator that has a kernel and feeds this one, through those that wait.
  template <class Each> void sources(const ProgramOp& op, const Each& each, int depth = 0) {
    for (const auto v : op.operands) {
      const auto m = maker_[v];
      if (m == kNone) continue;
      if (p_.ops[m].kernel != kNone)
        each(p_.ops[m]);
      else if (depth < kNesting)
        sources(p_.ops[m], each, depth + 1);
    }
  }

  /// Those that wait run in this kernel; before a product they are kernels of their own.
  void settle(const ProgramOp& op, std::uint32_t kernel, int depth = 0) {
    for (const auto v : op.operands) {
      const auto m = maker_[v];
      if (m == kNone || p_.ops[m].kernel != kNone) continue;
      const bool here = kernel != kNone && p_.ops[m].times == op.times && depth < kNesting;
      settle(p_.ops[m], here ? kernel : kNone, depth + 1);
      if (here)
        p_.ops[m].kernel = kernel;
      else
        begin(m);
    }
  }

  void place(std::uint32_t i) {
    auto& op = p_.ops[i];
    if (!chains(op)) {
      settle(op, kNone);
      begin(i);
      return;
    }
    std::uint32_t last = kNone;
    sources(op,
            [&](const ProgramOp& from) { last = last == kNone ? from.kernel : std::max(last, from.kernel); });
    if (last == kNone || !joins(op, last)) {
      begin(i);
      last = op.kernel;
    }
    op.kernel = last;
    settle(op, last);
  }

  bool joins(const ProgramOp& op, std::uint32_t kernel) {
    bool fits = true;
    sources(op, [&](const ProgramOp& from) {
      if (from.kernel != kernel) return;
      fits = fits && from.kind != ListedKind::reduction && from.times == op.times &&
             (from.kind != ListedKind::movement || from.touch == Touch::part);
    });
    const auto& first = p_.ops[head_[kernel]];
    if (is_product(first) && op.kind == ListedKind::reduction) return false;
    if (is_product(first) && !op.results.empty() && !first.results.empty())
      fits = fits && p_.values[op.results[0]].type.elements() == p_.values[first.results[0]].type.elements();
    return fits;
  }

  Program& p_;
  std::vector<std::uint32_t> maker_;
  std::vector<std::uint32_t> head_;  ///< of each kernel
};

}  // namespace

void fuse(Program& p) { Fusion(p).run(); }

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
