#pragma once
/// Sums of priced operators over a pass, and what of them is waited for.

#include <mlsysim/price/op_price.hpp>

#include <array>
#include <span>
#include <type_traits>

namespace mlsysim {

/// Sums over a set of operators.
template <class T = double> struct PassBreakdown {
  Time<T> total;          ///< operators one after the other
  Time<T> compute_bound;  ///< time of operators whose arithmetic is the slower side
  Time<T> memory_bound;   ///< time of operators whose traffic is the slower side
  Time<T> network;        ///< time of collectives and transfers between devices
  Time<T> host;           ///< time of transfers over the host link
  Time<T>
      prefetch_comm;  ///< part of the two that was issued ahead and runs under the other kernels of the pass
  Time<T> tp_comm;    ///< part of the collectives that can run piece by piece beside its product
  Time<T> ep_comm;    ///< part of the collectives that can run beside kernels that are kept for that,
  Time<T> overlap_compute;   ///< ... and the time of these kernels
  Time<T> overhead;          ///< launches
  Time<T> host_launch_time;  ///< time in which the host issues the kernels one by one; 0 for a captured graph
  Work<T> work;
  Data<T> traffic;

  /// Time in kernels.
  [[nodiscard]] Time<T> kernels() const { return compute_bound + memory_bound; }

  /// Adds `other`, `n` times.
  PassBreakdown& add(const PassBreakdown& other, const T& n) {
    total += other.total * n;
    compute_bound += other.compute_bound * n;
    memory_bound += other.memory_bound * n;
    network += other.network * n;
    host += other.host * n;
    prefetch_comm += other.prefetch_comm * n;
    tp_comm += other.tp_comm * n;
    ep_comm += other.ep_comm * n;
    overlap_compute += other.overlap_compute * n;
    overhead += other.overhead * n;
    host_launch_time += other.host_launch_time * n;
    work += other.work * n;
    traffic += other.traffic * n;
    return *this;
  }
  friend PassBreakdown operator+(PassBreakdown a, const PassBreakdown& b) { return a.add(b, T{1.0}); }
  friend PassBreakdown operator*(const PassBreakdown& a, const T& n) { return PassBreakdown{}.add(a, n); }

  /// Adds one priced operator.
  void add(const Op<T>& op, const OpCost<T>& cost, const Time<T>& launch_overhead) {
    // Nobody issues a collective of one rank.
    host_launch_time +=
        launch_overhead *
        (op.kind == OpKind::collective ? select(op.ranks > T{1.0}, op.count, T{0.0}) : op.count);
    total += named(op.name, cost.total);
    if (op.kind == OpKind::collective ||
        op.kind == OpKind::host_transfer) {  // they have neither work nor launches
      (op.kind == OpKind::host_transfer ? host : network) += cost.network;
      if (op.beside == Beside::pass) prefetch_comm += cost.network;
      if (op.beside == Beside::product) tp_comm += cost.network;
      if (op.beside == Beside::aside) ep_comm += cost.network;
      return;
    }
    const Time<T> kernel = cost.total - cost.overhead;
    const auto by_compute = cost.compute > cost.memory;
    compute_bound += select(by_compute, kernel, Time<T>());
    memory_bound += select(by_compute, Time<T>(), kernel);
    if (op.parts & part::aside) overlap_compute += kernel;
    overhead += cost.overhead;
    work += op.work * op.count;
    traffic += op.traffic * op.count;
  }

  /// Time of the pass when communication runs beside its kernels [s].
  ///
  /// Prefetched traffic hides under `plan.overlap` of the kernels, except the first of `blocks` pieces, for
  /// which nothing is there to hide under; pieces of tensor-parallel collectives hide under their products by
  /// `plan.tp_overlap`; the experts' exchange hides under the kernels that are kept for it. What hides slows
  /// the kernels beside it by `plan.steal` of its time. A pass cannot end before the host has issued it.
  [[nodiscard]] Time<T> exposed(const Plan<T>& plan, const T& blocks) const {
    return max(on_device(plan, blocks), host_launch_time);
  }

  /// Part of the prefetched traffic that hides under kernels [s].
  [[nodiscard]] Time<T> hidden_ahead(const Plan<T>& plan, const T& blocks) const {
    return min(prefetch_comm * (1.0 - 1.0 / blocks), kernels() * plan.overlap);
  }

  /// Time in which the device waits for the host to issue kernels [s].
  [[nodiscard]] Time<T> launch_wait(const Plan<T>& plan, const T& blocks) const {
    return max(host_launch_time - on_device(plan, blocks), Time<T>());
  }

 private:
  [[nodiscard]] Time<T> on_device(const Plan<T>& plan, const T& blocks) const {
    const Time<T> ahead = hidden_ahead(plan, blocks);
    const Time<T> routed = min(min(ep_comm, overlap_compute), kernels() - ahead);
    const Time<T> hidden = ahead + tp_comm * plan.tp_overlap + routed;
    return total - hidden * (1.0 - plan.steal);
  }
};

/// Member-wise choice.
template <class C, class T>
[[nodiscard]] PassBreakdown<T> select_cost(const C& condition, const PassBreakdown<T>& a,
                                           const PassBreakdown<T>& b) {
  return {select(condition, a.total, b.total),
          select(condition, a.compute_bound, b.compute_bound),
          select(condition, a.memory_bound, b.memory_bound),
          select(condition, a.network, b.network),
          select(condition, a.host, b.host),
          select(condition, a.prefetch_comm, b.prefetch_comm),
          select(condition, a.tp_comm, b.tp_comm),
          select(condition, a.ep_comm, b.ep_comm),
          select(condition, a.overlap_compute, b.overlap_compute),
          select(condition, a.overhead, b.overhead),
          select(condition, a.host_launch_time, b.host_launch_time),
          select(condition, a.work, b.work),
          select(condition, a.traffic, b.traffic)};
}

/// Sums of a list by pass and place.
template <class T = double> struct ListCost {
  std::array<std::array<PassBreakdown<T>, kPlaces>, kPasses> at{};
  std::array<Time<T>, kTraffics> network{};  ///< of the passes of one micro-batch, by whom it joins

  [[nodiscard]] const Time<T>& between(Traffic t) const { return network[static_cast<std::size_t>(t)]; }

  [[nodiscard]] const PassBreakdown<T>& of(Pass pass, Place place) const {
    return at[static_cast<std::size_t>(pass)][static_cast<std::size_t>(place)];
  }
  /// Of one pass on a pipeline stage, without what runs once on every stage; `first`, `last`: 1 where it is
  /// that stage; `blocks`: its share of the fullest stage's blocks.
  [[nodiscard]] PassBreakdown<T> stage(Pass pass, const T& first, const T& last, const T& blocks) const {
    PassBreakdown<T> sum = of(pass, Place::block) * blocks;
    sum.add(of(pass, Place::first), first);
    sum.add(of(pass, Place::last), last);
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
           same_number(a.ranks, b.ranks) && same_number(a.stride, b.stride) &&
           same_number(a.routed.experts, b.routed.experts) && same_number(a.routed.top_k, b.routed.top_k);
  }

  const Device<T>& device_;
  const Links<T>& links_;
  const Op<T>* before_ = nullptr;
  Time<T> once_;
};

}  // namespace detail

/// Prices a list.
template <class T>
[[nodiscard]] ListCost<T> price_list(std::span<const Op<T>> ops, const Device<T>& device,
                                     const Links<T>& links) {
  ListCost<T> sums;
  detail::ListPricer<T> price_one(device, links);
  // Neighbours mostly share pass and place: the sums of a run of them stay in registers.
  const Op<T>* op = ops.data();
  const Op<T>* const end = op + ops.size();
  while (op != end) {
    const Pass pass = op->pass;
    const Place place = op->place;
    PassBreakdown<T>& here = sums.at[static_cast<std::size_t>(pass)][static_cast<std::size_t>(place)];
    PassBreakdown<T> sum = here;
    for (; op != end && op->pass == pass && op->place == place; ++op) {
      const OpCost<T> cost = price_one(*op);
      sum.add(*op, cost, device.kernels.issue);
      if (op->between != Traffic::none && pass != Pass::update)
        sums.network[static_cast<std::size_t>(op->between)] += cost.network;
    }
    here = sum;
  }
  return sums;
}

}  // namespace mlsysim
