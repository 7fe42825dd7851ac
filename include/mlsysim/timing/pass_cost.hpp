#pragma once
/// Time of one forward or backward pass on one device, with compute-communication overlap.
///
///     exposed  = max(total - (1 - overlap_slowdown) hidden, host_launch_time)
///     hidden   = prefetch + tp_overlap tp_comm + min(ep_comm, overlap_compute, kernels - prefetch)
///     prefetch = min(prefetch_comm (1 - 1 / blocks), overlap kernels)
///
/// total: kernels and collectives in sequence [s]. prefetch_comm: collectives issued ahead, such as ZeRO-3
/// gathers [s]. ep_comm: expert all-to-all under the kernels of overlap_compute [s].
/// overlap, tp_overlap: shares that can hide. overlap_slowdown: kernel time lost per hidden second.
/// The first of `blocks` pieces of prefetch_comm hides under nothing.
/// A pass cannot end before the host has launched its kernels.
/// Example: 20 ms of kernels, 6 ms of prefetch_comm in 32 blocks, overlap 1, overlap_slowdown 0.2: 21.35 ms.

#include <mlsysim/reflect/elementwise.hpp>
#include <mlsysim/timing/launches.hpp>
#include <mlsysim/timing/op_price.hpp>

#include <array>
#include <span>
#include <type_traits>

namespace mlsysim {

/// Sums over a set of operators.
template <class T = double> struct PassBreakdown {
  Time<T> total, compute_bound, memory_bound, network, host, prefetch_comm, tp_comm, ep_comm, overlap_compute,
      overhead, host_launch_time, sequence_mixing;
  Work<T> work;
  Data<T> traffic;

  static constexpr auto fields() {
    using P = PassBreakdown;
    return rows(
        field(&P::total, "total", "ms", "operators one after the other"),
        field(&P::compute_bound, "compute_bound", "ms", "operators limited by their arithmetic"),
        field(&P::memory_bound, "memory_bound", "ms", "operators limited by their memory traffic"),
        field(&P::network, "network", "ms", "collectives and transfers between devices"),
        field(&P::host, "host", "ms", "transfers over the host link"),
        field(&P::prefetch_comm, "prefetch_comm", "ms",
              "part of network and host that is issued ahead and overlaps other kernels of the pass"),
        field(&P::tp_comm, "tp_comm", "ms", "part of network that overlaps its own product, piece by piece"),
        field(&P::ep_comm, "ep_comm", "ms", "part of network that overlaps the kernels of overlap_compute"),
        field(&P::overlap_compute, "overlap_compute", "ms", "kernels that are kept to overlap ep_comm"),
        field(&P::overhead, "overhead", "ms", "launches"),
        field(&P::host_launch_time, "host_launch_time", "ms",
              "time in which the host launches the kernels one by one; 0 for a captured graph"),
        field(&P::sequence_mixing, "sequence_mixing", "ms",
              "attention and recurrences, which see each sequence by itself"),
        field(&P::work, "work", "GFLOP", "arithmetic"),
        field(&P::traffic, "traffic", "GB", "memory traffic"));
  }

  /// Time in kernels.
  [[nodiscard]] Time<T> kernels() const { return compute_bound + memory_bound; }

  /// Adds `other`, `n` times.
  PassBreakdown& add(const PassBreakdown& other, const T& n) {
    add_members(*this, other, n);
    return *this;
  }
  friend PassBreakdown operator+(PassBreakdown a, const PassBreakdown& b) { return a.add(b, T{1.0}); }
  friend PassBreakdown operator*(const PassBreakdown& a, const T& n) { return PassBreakdown{}.add(a, n); }

  /// Adds one priced operator.
  void add(const Op<T>& op, const OpCost<T>& cost, const Time<T>& launch_overhead) {
    // A collective of one rank is not launched.
    host_launch_time +=
        launch_overhead * (op.kind == OpKind::collective ? select(op.ranks > T{1.0}, op.count, T{0.0})
                                                         : op.count * cost.launches);
    total += named(op.name, cost.total);
    if (!op.on_device()) {  // they have neither work nor launches
      (op.kind == OpKind::collective ? network : host) += cost.network;
      if (op.overlap_with == OverlapWith::pass) prefetch_comm += cost.network;
      if (op.overlap_with == OverlapWith::product) tp_comm += cost.network;
      if (op.overlap_with == OverlapWith::marked) ep_comm += cost.network;
      return;
    }
    if (op.kind == OpKind::attention || op.kind == OpKind::recurrence) sequence_mixing += cost.total;
    const Time<T> kernel = cost.total - cost.overhead;
    const auto by_compute = cost.compute > cost.memory;
    compute_bound += select(by_compute, kernel, Time<T>());
    memory_bound += select(by_compute, Time<T>(), kernel);
    if (op.parts & part::overlap_compute) overlap_compute += kernel;
    overhead += cost.overhead;
    work += op.work * op.count;
    traffic += op.memory_bytes * op.count;
  }

  /// Adds a kernel of a launch list. @param eager 1 where the host launches it, 0 in a captured graph
  void add(const Op<T>& op, const Launched<T>& launched, const Time<T>& launch_overhead, const T& eager,
           const Software& software, const Time<T>& operator_time) {
    const Time<T> gaps = Time<T>(software.gap + software.host_gap) * (launched.kernels * eager);
    total += named(op.name, launched.total + gaps);
    memory_bound += launched.memory;
    overhead += launched.total - launched.memory + gaps;
    traffic += launched.traffic;
    host_launch_time += launch_overhead * launched.kernels;
    host_launch_time +=
        (operator_time * launched.operators + Time<T>(software.module) * launched.modules + launched.host) *
        eager;
  }

  /// Time of the pass when communication runs beside its kernels [s].
  [[nodiscard]] Time<T> exposed(const Plan<T>& plan, const T& blocks) const {
    return max(on_device(plan, blocks), host_launch_time);
  }

  /// Part of the prefetched traffic that hides under kernels [s].
  [[nodiscard]] Time<T> hidden_ahead(const Plan<T>& plan, const T& blocks) const {
    return min(prefetch_comm * (1.0 - 1.0 / blocks), kernels() * plan.overlap);
  }

  /// Time in which the device waits for the host to launch kernels [s].
  [[nodiscard]] Time<T> launch_wait(const Plan<T>& plan, const T& blocks) const {
    return max(host_launch_time - on_device(plan, blocks), Time<T>());
  }

 private:
  [[nodiscard]] Time<T> on_device(const Plan<T>& plan, const T& blocks) const {
    const Time<T> prefetch = hidden_ahead(plan, blocks);
    const Time<T> exchange = min(min(ep_comm, overlap_compute), kernels() - prefetch);
    const Time<T> hidden = prefetch + tp_comm * plan.tp_overlap + exchange;
    return total - hidden * (1.0 - plan.overlap_slowdown);
  }
};

/// Sums of a list by pass and place.
template <class T = double> struct ListCost {
  std::array<std::array<PassBreakdown<T>, kStageScopes>, kPasses> at{};
  std::array<Time<T>, kCommGroups> network{};  ///< of the passes of one micro-batch, by whom it joins

  [[nodiscard]] const Time<T>& between(CommGroup t) const { return network[static_cast<std::size_t>(t)]; }

  [[nodiscard]] const PassBreakdown<T>& of(Pass pass, StageScope place) const {
    return at[static_cast<std::size_t>(pass)][static_cast<std::size_t>(place)];
  }
  /// Sums one pass on a pipeline stage, without the operators that run once on every stage. `first`, `last`:
  /// 1 where it is that stage; `blocks`: its share of the fullest stage's blocks.
  [[nodiscard]] PassBreakdown<T> stage(Pass pass, const T& first, const T& last, const T& blocks) const {
    PassBreakdown<T> sum = of(pass, StageScope::every_block) * blocks;
    sum.add(of(pass, StageScope::first), first);
    sum.add(of(pass, StageScope::last), last);
    return sum;
  }
};

namespace detail {

/// Whether two numbers are one and the same, so that what was computed from one holds for the other.
template <class T> [[nodiscard]] bool same_number(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, double>)
    return a == b;
  else
    return identical(a, b);
}

/// Prices the operators of a list in turn. Collectives are the dearest to price and mostly repeat the one
/// before.
template <class T> class ListPricer {
 public:
  ListPricer(const Device<T>& device, const Links<T>& links) : device_(device), links_(links) {}

  [[nodiscard]] OpCost<T> operator()(const Op<T>& op) {
    if (same_number(op.count, T{0.0})) return {};
    if (op.kind != OpKind::collective) return price(op, device_, links_);
    if (same_number(op.ranks, T{1.0})) return {};  // as the laws of every collective say, without asking them
    if (before_ == nullptr || !repeats(*before_, op)) {
      once_ = collective_time(op, links_);
      before_ = &op;
    }
    OpCost<T> cost;
    cost.network = cost.total = once_ * op.count;
    return cost;
  }

 private:
  [[nodiscard]] static bool repeats(const Op<T>& a, const Op<T>& b) {
    return a.collective == b.collective && same_number(a.message.base(), b.message.base()) &&
           same_number(a.ranks, b.ranks) && same_number(a.stride, b.stride) && same_number(a.m, b.m) &&
           same_number(a.routed.experts, b.routed.experts) && same_number(a.routed.top_k, b.routed.top_k);
  }

  const Device<T>& device_;
  const Links<T>& links_;
  const Op<T>* before_ = nullptr;
  Time<T> once_;
};

}  // namespace detail

namespace detail {

/// Adds an operator of software that does not fuse its kernels: its own kernel and those of its launch list.
template <class T>
void add_launches(const Op<T>& op, const LaunchFrame<T>& frame, ListPricer<T>& price_one,
                  const Links<T>& links, const Device<T>& device, const Time<T>& launch_overhead,
                  PassBreakdown<T>& sum) {
  const Software& software = frame.software();
  const T one{1.0}, eager = select(launch_overhead > Time<T>(), one, T{0.0});
  if (frame.vanishes(op)) return;
  sum.host_launch_time += frame.hook_time(op) * eager;
  const auto own = [&](const LaunchPart* part) {
    Op<T> it = op;
    const bool split_keys = op.kind == OpKind::attention && frame.decodes();
    if (software.masked && split_keys) {
      // The mask rules grouped heads out, and its kernel does not divide the keys.
      it.memory_bytes = it.working_set + (it.memory_bytes - it.working_set) * it.group_heads;
      it.group_heads = one;
      it.keys = Keys::undivided;
    }
    OpCost<T> cost;
    const T matrices = frame.matrices(op);
    if (op.kind == OpKind::convolution && software.convolution) {
      const auto r = frame.convolution(op);
      cost = {r.time * op.count, r.compute * op.count, r.memory * op.count, {}, {}};
    } else if (op.kind == OpKind::matmul && !same_number(matrices, one)) {
      cost = price(frame.one_of(op), device, links);
    } else {
      cost = price_one(it);
    }
    sum.add(it, cost, Time<T>());
    Launched<T> more;  // the kernel's time is counted, its launches are not
    more.kernels = op.count * (matrices + (split_keys ? 1.0 : 0.0));
    more.operators = op.count * matrices * (part == nullptr ? 1.0 : part->operators);
    more.modules = op.count * (part == nullptr ? 0.0 : part->modules);
    sum.add(op, more, launch_overhead, eager, software, frame.operator_time(op.pass));
    // Weights that are kept in fp32 are cast for each product.
    if (!software.autocast || !(op.kind == OpKind::convolution || op.kind == OpKind::matmul) ||
        op.name.starts_with("attention_"))
      return;
    for (const LaunchPart* cast : software.of("autocast"))
      sum.add(op, frame.small(*cast, op), launch_overhead, eager, software, frame.operator_time(op.pass));
  };
  const auto rows = frame.rows_of(op);
  // An operator without rows in its pass stays one kernel; so does the update of weights.
  bool listed = false;
  for (const LaunchPart* part : rows) listed = listed || frame.is_in(*part, op.pass);
  if (!listed || op.pass == Pass::update) return own(nullptr);
  for (const LaunchPart* part : rows) {
    if (!frame.is_in(*part, op.pass) || !frame.runs(*part)) continue;
    // Gradients of weights are products of their own; what goes with them runs beside the gradient of the
    // input.
    if (op.pass == Pass::weight_gradient && part->kernel != LaunchKernel::own) continue;
    if (part->kernel == LaunchKernel::own)
      own(part);
    else
      sum.add(op, frame.small(*part, op), launch_overhead, eager, software, frame.operator_time(op.pass));
  }
}

}  // namespace detail

/// Prices a list. @param launch_overhead host time of one kernel
/// @param frame where each operator becomes launches of its own; null where they are fused
template <class T>
[[nodiscard]] ListCost<T> price_list(std::span<const Op<T>> ops, const Device<T>& device,
                                     const Links<T>& links, const Time<T>& launch_overhead,
                                     const LaunchFrame<T>* frame = nullptr) {
  ListCost<T> sums;
  detail::ListPricer<T> price_one(device, links);
  // Neighbors mostly share pass and place: the sums of a run of them stay in registers.
  const Op<T>* op = ops.data();
  const Op<T>* const end = op + ops.size();
  while (op != end) {
    const Pass pass = op->pass;
    const StageScope place = op->place;
    PassBreakdown<T>& here = sums.at[static_cast<std::size_t>(pass)][static_cast<std::size_t>(place)];
    PassBreakdown<T> sum = here;
    for (; op != end && op->pass == pass && op->place == place; ++op) {
      if (frame != nullptr && op->on_device()) {
        detail::add_launches(*op, *frame, price_one, links, device, launch_overhead, sum);
        continue;
      }
      const OpCost<T> cost = price_one(*op);
      sum.add(*op, cost, launch_overhead);
      if (op->comm_group != CommGroup::none && pass != Pass::update)
        sums.network[static_cast<std::size_t>(op->comm_group)] += cost.network;
    }
    here = sum;
  }
  return sums;
}

}  // namespace mlsysim
