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
#include <mlsysim/scalars/scalars.hpp>
#include <mlsysim/specs/views.hpp>

namespace mlsysim {

template <class T> struct Launched;
template <class T> struct Op;
template <class T> struct OpCost;
struct Software;

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

  /// Adds one priced operator (timing/pass_cost.hpp).
  void add(const Op<T>& op, const OpCost<T>& cost, const Time<T>& launch_overhead);
  /// Adds a kernel of a launch list. @param eager 1 where the host launches it, 0 in a captured graph
  void add(const Op<T>& op, const Launched<T>& launched, const Time<T>& launch_overhead, const T& eager,
           const Software& software, const Time<T>& operator_time);

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

namespace detail {

/// Whether two numbers are one and the same, so that what was computed from one holds for the other.
template <class T> [[nodiscard]] bool same_number(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, double>)
    return a == b;
  else
    return identical(a, b);
}

}  // namespace detail
}  // namespace mlsysim
