#pragma once
/// Pricing: how long each operator of a list takes on a device.

#include <mlsysim/lowering/op.hpp>
#include <mlsysim/physics/attention.hpp>
#include <mlsysim/physics/collectives.hpp>
#include <mlsysim/physics/matmul.hpp>
#include <mlsysim/physics/protocols.hpp>
#include <mlsysim/spec/views.hpp>

namespace mlsysim {

/// Time of one operator, all its executions [s].
template <class T = double> struct OpCost { Time<T> total, compute, memory, network, overhead; };

/// Inner bandwidth of a device in a group of `ranks`: behind a switch all of it, in a full mesh the links to
/// the others.
template <class T> [[nodiscard]] Bandwidth<T> group_bandwidth(const T& ranks, const Links<T>& l) {
  return l.intra_bandwidth * (clamp(T(ranks - 1.0), T{1.0}, l.peers) / l.peers);
}

/// All-reduce of a group inside one node: the fastest of ring, switch and an engine's own kernel.
template <class T>
[[nodiscard]] Time<T> all_reduce_time(const Data<T>& message, const T& ranks, const Links<T>& l) {
  const Bandwidth<T> bandwidth = group_bandwidth(ranks, l);
  const Time<T> ring = apply<ProtocolRing, T>({.message = message,
                                               .ranks = ranks,
                                               .passes = T{2.0},
                                               .bandwidth = bandwidth,
                                               .launch = l.launch,
                                               .hop = l.hop,
                                               .sync = l.sync,
                                               .low_latency_share = l.low_latency_share,
                                               .share = l.share,
                                               .copy_ratio = l.copy_ratio})
                           .time;
  const Time<T> in_switch = apply<SwitchAllReduce, T>({.message = message,
                                                       .ranks = ranks,
                                                       .bandwidth = bandwidth,
                                                       .start = l.launch + l.switch_start,
                                                       .share = l.switch_share})
                                .time;
  const Time<T> library = min(ring, select(l.switch_share > T{0.0}, in_switch, ring));
  const Time<T> direct = apply<DirectAllReduce, T>({.message = message,
                                                    .ranks = ranks,
                                                    .bandwidth = bandwidth,
                                                    .start = l.direct_start,
                                                    .hop = l.direct_hop,
                                                    .second = l.direct_second,
                                                    .share = l.direct_share})
                             .time;
  return select(l.direct > T{0.5}, min(library, direct), library);
}

/// All-reduce between `nodes`, each of which has one rank in it: the faster of ring and double binary tree.
/// The ring has the bandwidth, the tree the depth, so that many nodes with little data take the tree.
template <class T>
[[nodiscard]] Time<T> all_reduce_between(const Data<T>& message, const T& nodes, const Links<T>& l) {
  const Bandwidth<T> bandwidth = l.inter_bandwidth * l.share;
  const Time<T> ring =
      apply<RingAllReduce, T>(
          {.message = message, .ranks = nodes, .bandwidth = bandwidth, .alpha = l.inter_latency})
          .time;
  const Time<T> tree =
      apply<DoubleBinaryTreeAllReduce, T>(
          {.message = message, .ranks = nodes, .bandwidth = bandwidth, .alpha = l.inter_latency})
          .time;
  return min(ring, tree);
}

/// Gather or scatter of a group inside one node.
template <class T>
[[nodiscard]] Time<T> gather_time(const Data<T>& message, const T& ranks, const Links<T>& l) {
  return apply<ProtocolRing, T>({.message = message,
                                 .ranks = ranks,
                                 .passes = T{1.0},
                                 .bandwidth = group_bandwidth(ranks, l),
                                 .launch = l.launch,
                                 .hop = l.hop,
                                 .sync = l.sync,
                                 .low_latency_share = l.low_latency_share,
                                 .share = l.share,
                                 .copy_ratio = l.copy_ratio})
      .time;
}

/// Time of one collective. A group of `ranks` devices, `stride` apart, spans nodes when it does not fit in
/// one: `inner` of them share a node, and `ranks / inner` nodes take part.
template <class T> [[nodiscard]] Time<T> collective_time(const Op<T>& op, const Links<T>& links) {
  const T inner = clamp(floor(links.per_node / op.stride), T{1.0}, op.ranks);
  const T nodes = ceil_div(op.ranks, inner);
  const Bandwidth<T> inter = links.inter_bandwidth * links.share;
  switch (op.collective) {
    case Collective::all_reduce: {
      // Reduce inside, between the nodes each device with its part, then spread inside.
      return all_reduce_time(op.message, inner, links) + all_reduce_between(op.message / inner, nodes, links);
    }
    case Collective::all_gather:
    case Collective::reduce_scatter: {
      // First between the nodes, each rank with its part, then inside; a reduce-scatter runs the other way
      // round.
      const Time<T> between = apply<RingAllGather, T>({.message = op.message / inner,
                                                       .ranks = nodes,
                                                       .bandwidth = inter,
                                                       .alpha = links.inter_latency})
                                  .time;
      return gather_time(op.message, inner, links) + between;
    }
    case Collective::all_to_all: {
      // The part for the own node and the part for the others leave over different links at once.
      const T away = 1.0 - 1.0 / nodes;
      const Time<T> inside = apply<ProtocolAllToAll, T>({.message = op.message * (1.0 - away),
                                                         .ranks = inner,
                                                         .bandwidth = group_bandwidth(inner, links),
                                                         .launch = links.launch,
                                                         .hop = links.hop,
                                                         .sync = links.sync,
                                                         .pair_share = links.pair_share,
                                                         .share = links.share,
                                                         .copy_ratio = links.copy_ratio})
                                 .time;
      const Time<T> between = op.message * away / inter + links.inter_latency * (nodes - 1.0);
      return max(inside, between);
    }
    case Collective::point_to_point: {
      const auto crosses = op.stride >= links.per_node;
      const Bandwidth<T> intra = group_bandwidth(T{2.0}, links) * links.share;
      const Time<T> time =
          apply<PointToPoint, T>({.message = op.message,
                                  .bandwidth = select(crosses, inter, intra),
                                  .alpha = links.launch + select(crosses, links.inter_latency, links.hop)})
              .time;
      return select(op.ranks > T{1.0}, time, Time<T>());
    }
    case Collective::none:
      break;
  }
  return {};
}

/// One execution of a product or convolution: whole tiles and waves or a split depth, at the rate that the
/// power limit leaves for the work of all executions.
template <class T> [[nodiscard]] OpCost<T> matmul_cost(const Op<T>& op, const Device<T>& d) {
  const T share = op.wide ? d.efficiency.matrix * d.compute.wide_ratio : d.efficiency.matrix;
  const ComputeRate<T> rate = apply<BurstRate, T>({.work = op.work * op.count,
                                                   .peak = d.compute.dense * share,
                                                   .burst = d.efficiency.burst,
                                                   .burst_time = d.efficiency.burst_time})
                                  .rate;
  const auto r = apply<MatmulTime, T>(
      {.m = op.m,
       .n = op.n,
       .k = op.k,
       .count = op.copies,
       .traffic = op.traffic,
       // A narrower product is padded to whole matrix instructions only.
       .tile_m =
           min(d.compute.matrix_rows * ceil_div(max(op.m, T{1.0}), d.compute.matrix_rows), d.tiles.tile_m),
       .tile_n =
           min(d.compute.matrix_rows * ceil_div(max(op.n, T{1.0}), d.compute.matrix_rows), d.tiles.tile_n),
       .units = d.compute.units,
       .split_depth = d.tiles.split_depth,
       .peak = rate,
       .bandwidth = d.memory.bandwidth * d.efficiency.memory,
       .launch = d.kernels.launch,
       .wave = d.kernels.wave,
       .split = d.kernels.split});
  return {.total = r.time, .compute = r.compute, .memory = r.memory, .overhead = d.kernels.launch};
}

/// One execution of fused attention.
template <class T> [[nodiscard]] OpCost<T> attention_cost(const Op<T>& op, const Device<T>& d) {
  const T rows = max(op.m, T{1.0}), keys = max(op.n, T{1.0});
  const T reach = max(select(op.reach > T{0.0}, op.reach, op.n), T{1.0});
  const T pairs = max(op.copies * rows * reach, T{1.0});
  const auto r = apply<AttentionTime, T>(
      {.copies = op.copies,
       .group = op.group_heads,
       .new_tokens = rows,
       .keys = keys,
       .reach = reach,
       .pair_work = op.work / pairs,
       .pair_softmax = d.tiles.softmax_work / (d.compute.vector * d.efficiency.vector),
       .traffic = op.traffic,
       .tile = d.tiles.attention_tile,
       .units = d.compute.units,
       .peak = d.compute.dense * (op.pass == Pass::backward
                                      ? d.efficiency.attention * d.efficiency.attention_backward
                                      : d.efficiency.attention),
       .bandwidth = d.memory.bandwidth * d.efficiency.memory,
       .launch = d.kernels.attention_launch,
       .block = d.kernels.attention_block,
       .block_rows = d.kernels.attention_rows,
       .split = d.kernels.attention_split});
  return {.total = r.time, .compute = r.compute, .memory = r.memory, .overhead = d.kernels.attention_launch};
}

/// One execution of anything else, which streams: launch + soft maximum of arithmetic outside the matrix
/// engine and traffic.
template <class T> [[nodiscard]] OpCost<T> stream_cost(const Op<T>& op, const Device<T>& d) {
  const auto r = apply<SoftRoofline, T>({.work = op.work,
                                         .traffic = op.traffic,
                                         .peak = d.compute.vector * d.efficiency.vector,
                                         .bandwidth = d.memory.bandwidth * d.efficiency.memory});
  return {.total = r.time + d.kernels.launch,
          .compute = r.compute,
          .memory = r.memory,
          .overhead = d.kernels.launch};
}

/// Prices one operator, all its executions: MatmulTime, AttentionTime, a stream, or the fastest collective. A
/// collective overlaps with nothing here.
template <class T>
[[nodiscard]] OpCost<T> price(const Op<T>& op, const Device<T>& device, const Links<T>& links) {
  OpCost<T> cost;
  switch (op.kind) {
    case OpKind::collective:
      cost.network = collective_time(op, links) * op.count;
      cost.total = cost.network;
      return cost;
    case OpKind::host_transfer:
      cost.network = op.message / device.host_link.bandwidth * op.count;
      cost.total = cost.network;
      return cost;
    case OpKind::matmul:
    case OpKind::convolution:
      cost = matmul_cost(op, device);
      break;
    case OpKind::attention:
      cost = attention_cost(op, device);
      break;
    case OpKind::elementwise:
    case OpKind::gather:
    case OpKind::recurrence:
      cost = stream_cost(op, device);
      break;
  }
  return {.total = cost.total * op.count,
          .compute = cost.compute * op.count,
          .memory = cost.memory * op.count,
          .network = {},
          .overhead = cost.overhead * op.count};
}

}  // namespace mlsysim
