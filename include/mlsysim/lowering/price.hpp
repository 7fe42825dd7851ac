#pragma once
/// Pricing: how long each operator of a list takes on a device, and the sums over a pass.

#include <mlsysim/lowering/op.hpp>
#include <mlsysim/physics/collectives.hpp>
#include <mlsysim/physics/matmul.hpp>
#include <mlsysim/spec/views.hpp>

#include <span>

namespace mlsysim {

/// Time of one operator, all its executions [s].
template <class T = double>
struct OpCost {
  Time<T> total, compute, memory, network, overhead;
};

/// Sums over a set of operators.
template <class T = double>
struct PassCost {
  Time<T> total;          ///< operators one after the other
  Time<T> compute_bound;  ///< time of operators whose arithmetic is the slower side
  Time<T> memory_bound;   ///< time of operators whose traffic is the slower side
  Time<T> network;        ///< time of collectives
  Time<T> hidable;        ///< part of it that can run under the pass's arithmetic
  Time<T> overhead;       ///< launches
  Work<T> work;
  Data<T> traffic;

  friend PassCost operator+(const PassCost& a, const PassCost& b) {
    return {a.total + b.total,       a.compute_bound + b.compute_bound, a.memory_bound + b.memory_bound,
            a.network + b.network,   a.hidable + b.hidable,             a.overhead + b.overhead,
            a.work + b.work,         a.traffic + b.traffic};
  }
  friend PassCost operator*(const PassCost& a, const T& n) {
    return {a.total * n,    a.compute_bound * n, a.memory_bound * n, a.network * n,
            a.hidable * n,  a.overhead * n,      a.work * n,         a.traffic * n};
  }

  /// Time with hidable collectives under `overlap` of the pass's own kernels [s].
  [[nodiscard]] Time<T> exposed(const T& overlap) const {
    const Time<T> kernels = compute_bound + memory_bound;
    return total - min(hidable, kernels * overlap);
  }
};

namespace detail {

/// Time of one collective. A group of `ranks` devices, `stride` apart, spans nodes when it does not fit in one:
/// `inner` of them share a node, and `ranks / inner` nodes take part.
template <class T>
[[nodiscard]] Time<T> collective_time(const Op<T>& op, const Links<T>& links) {
  const T inner = clamp(floor(links.per_node / op.stride), T{1.0}, op.ranks);
  const T nodes = ceil_div(op.ranks, inner);
  const Bandwidth<T> intra = links.intra_bandwidth * links.share, inter = links.inter_bandwidth * links.share;
  switch (op.collective) {
    case Collective::all_reduce:
      return apply<HierarchicalAllReduce, T>({.message = op.message, .ranks_per_node = inner, .nodes = nodes,
                                              .bandwidth_intra = intra, .bandwidth_inter = inter,
                                              .alpha_intra = links.intra_latency, .alpha_inter = links.inter_latency}).time;
    case Collective::all_gather:
    case Collective::reduce_scatter: {
      // First between the nodes, each rank with its part, then inside; a reduce-scatter runs the other way round.
      const Time<T> inside = apply<RingAllGather, T>({.message = op.message, .ranks = inner, .bandwidth = intra, .alpha = links.intra_latency}).time;
      const Time<T> between = apply<RingAllGather, T>({.message = op.message / inner, .ranks = nodes, .bandwidth = inter, .alpha = links.inter_latency}).time;
      return inside + between;
    }
    case Collective::all_to_all: {
      // The part for the own node and the part for the others leave over different links at once.
      const T away = 1.0 - 1.0 / nodes;
      const Time<T> inside = apply<AllToAll, T>({.message = op.message * (1.0 - away), .ranks = inner, .bandwidth = intra, .alpha = links.intra_latency}).time;
      const Time<T> between = op.message * away / inter + links.inter_latency * (nodes - 1.0);
      return max(inside, between);
    }
    case Collective::point_to_point: {
      const auto crosses = op.stride >= links.per_node;
      const Time<T> time = apply<PointToPoint, T>({.message = op.message, .bandwidth = select(crosses, inter, intra),
                                                   .alpha = select(crosses, links.inter_latency, links.intra_latency)}).time;
      return select(op.ranks > T{1.0}, time, Time<T>());
    }
    case Collective::none: break;
  }
  return {};
}

}  // namespace detail

/// Prices one operator, all its executions.
///
/// Products, convolutions and attention: launch + soft maximum of arithmetic at the sustained matrix rate and traffic
/// at the sustained memory rate; products also pay whole tiles and whole waves. Everything else uses the vector rate.
/// A collective takes its alpha-beta time and overlaps with nothing here.
template <class T>
[[nodiscard]] OpCost<T> price(const Op<T>& op, const Device<T>& device, const Links<T>& links) {
  OpCost<T> cost;
  if (op.kind == OpKind::collective) {
    cost.network = detail::collective_time(op, links) * op.count;
    cost.total = cost.network;
    return cost;
  }
  ComputeRate<T> rate = device.vector_rate * device.vector_share;
  Work<T> work = op.work;
  if (op.kind == OpKind::matmul || op.kind == OpKind::convolution) {
    // Kernels come with smaller tiles for narrow products, down to the 16 rows or columns of one instruction.
    const T tile_m = clamp(16.0 * ceil_div(op.m, T{16.0}), T{16.0}, device.tile_m);
    const T tile_n = clamp(16.0 * ceil_div(op.n, T{16.0}), T{16.0}, device.tile_n);
    const auto grid = apply<TileWave, T>({.m = op.m, .n = op.n, .count = op.copies, .tile_m = tile_m,
                                          .tile_n = tile_n, .units = device.units});
    // Fewer tiles than units: the depth is split so that all units work. More: a last wave costs a whole one.
    const T tiles = select(grid.tiles < device.units, grid.tiles, grid.waves * device.units);
    // Occupied arithmetic instead of work / efficiency, so that an empty product has no 0 / 0.
    work = tiles * tile_m * tile_n * op.k * (2.0 * unit::FLOP);
    rate = device.matrix_rate * device.matrix_share;
  } else if (op.kind == OpKind::attention) {
    rate = device.matrix_rate * device.attention_share;
  }
  const auto roof = apply<SoftRoofline, T>({.work = work, .traffic = op.traffic, .peak = rate,
                                            .bandwidth = device.memory_bandwidth * device.memory_share});
  cost.compute = roof.compute * op.count;
  cost.memory = roof.memory * op.count;
  cost.overhead = device.launch * op.count;
  cost.total = roof.time * op.count + cost.overhead;
  return cost;
}

/// Prices the operators [begin, end) of one kind of pass and adds them up.
template <class T>
[[nodiscard]] PassCost<T> price_pass(std::span<const Op<T>> ops, Pass pass, const Device<T>& device,
                                     const Links<T>& links) {
  PassCost<T> sum;
  for (const Op<T>& op : ops) {
    if (op.pass != pass) continue;
    const OpCost<T> cost = price(op, device, links);
    const Time<T> kernel = cost.total - cost.overhead - cost.network;
    const auto by_compute = cost.compute > cost.memory;
    sum.total += cost.total;
    sum.compute_bound += select(by_compute, kernel, Time<T>());
    sum.memory_bound += select(by_compute, Time<T>(), kernel);
    sum.network += cost.network;
    if (op.hidable) sum.hidable += cost.network;
    sum.overhead += cost.overhead;
    sum.work += op.work * op.count;
    sum.traffic += op.traffic * op.count;
  }
  return sum;
}

}  // namespace mlsysim
