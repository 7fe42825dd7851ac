#pragma once
/// Time of a collective over the levels of a machine: node, rail and spine, or the axes of a torus.
///
///     nested = inside(message) + between(message / inner)                     level after level
///     flat   = start + passes (round + (1 - 1/ranks) message / narrowest)     one ring through all levels
///     time   = min(nested, flat) of an all-reduce, nested of a gather or scatter
///
/// passes: 2 of an all-reduce, 1 of a gather or scatter. round: start-ups of one trip around the ring [s].
/// narrowest: sustained rate of the slowest edge [B/s]. inner: ranks of the group in one node.
/// Trees and reduction in the switch compete for an all-reduce too. `links.form.algorithm` may exclude a way.
/// An all-to-all takes the longer of its parts inside and between nodes. Ranks are equal, additions are free.
/// @cite hu2025nccl, section V; patarasuk2009allreduce
/// Example: all-reduce of 1 GiB on 4 nodes of 8 A100s, no start-ups: 2 (31/32) 1 GiB / 190 GB/s = 10.9 ms.

#include <mlsysim/lowering/op.hpp>
#include <mlsysim/physics/collectives.hpp>
#include <mlsysim/physics/leveled_collectives.hpp>
#include <mlsysim/physics/protocols.hpp>
#include <mlsysim/physics/routing.hpp>
#include <mlsysim/specs/links.hpp>

#include <array>
#include <type_traits>

namespace mlsysim {

/// How a group of devices lies on the levels: `inner` of them share the innermost level, and `nodes` such
/// parts exchange over the levels above it.
template <class T = double> struct Spread {
  T ranks, inner, nodes;
  Bandwidth<T> ring;      ///< a device's sustained way out of its node where neighbors talk to neighbors
  Bandwidth<T> exchange;  ///< sustained way out of the node where all talk to all
  Time<T> step, climb;    ///< mean start-up of a step over nodes: from neighbor to neighbor, up a tree
  Time<T> turns;          ///< of nested rings: start-ups of one round of every level
  Time<T> per_byte;       ///< of nested rings: time of a byte of a device's part, one pass of every level
};

/// Levels that join the devices of a node: one, or the axes of a torus.
template <class T> [[nodiscard]] int inner_levels(const Links<T>& l) {
  return l.form.axes > 0 ? l.form.axes : 1;
}
/// Devices that the node, or the torus, joins.
template <class T> [[nodiscard]] T devices_inside(const Links<T>& l) {
  T devices = l.level1.peers;
  for (int i = 1; i < l.form.axes; ++i) devices = devices * l[i].peers;
  return devices;
}

/// All links of a device inside its node, or on all axes there and back.
template <class T> [[nodiscard]] Bandwidth<T> whole_link(const Links<T>& l) {
  if (l.form.axes == 0) return l.level1.bandwidth;
  Bandwidth<T> all;
  for (int i = 0; i < l.form.axes; ++i) all += 2.0 * l[i].bandwidth;
  return all;
}

/// Inner bandwidth of a device in a group of `ranks`: behind a switch all of it, in a full mesh the links to
/// the others.
template <class T> [[nodiscard]] Bandwidth<T> group_bandwidth(const T& ranks, const Links<T>& l) {
  return l.level1.bandwidth * (clamp(T(ranks - 1.0), T{1.0}, l.mesh) / l.mesh);
}

/// How a group lies on one axis of a torus.
template <class T = double> struct AxisPart {
  T ranks, ways;  ///< of the group on the axis; links that each has for itself: 2 all around, 1 on a part
};
/// @param below devices of the axes before; @param before ranks of the group on them
template <class T>
[[nodiscard]] AxisPart<T> axis_part(const Level<T>& axis, const T& below, const T& before, const T& ranks,
                                    const T& stride) {
  const T reached = clamp(floor(below * axis.peers / stride), before, ranks), on = ceil_div(reached, before);
  // Groups that lie between each other's devices share the links.
  const T gap = clamp(T(stride / below), T{1.0}, axis.peers);
  // Axes of fewer than four are not closed (google-tpu-v4-docs).
  const auto closed = (on * gap >= axis.peers) && (axis.peers >= T{4.0});
  return {on, select(closed, T{2.0}, T{1.0}) / gap};
}

/// A group on a torus: the summed rate of its axes, and the start-ups on the way once around all of them.
template <class T = double> struct TorusPart {
  Bandwidth<T> rate;
  Time<T> round, exchange;  ///< exchange: all to all, without the launch
};
template <class T>
[[nodiscard]] TorusPart<T> torus_part(const Data<T>& message, const T& ranks, const T& stride,
                                      const Links<T>& l) {
  TorusPart<T> out;
  T below{1.0}, before{1.0};
  for (int i = 0; i < l.form.axes; ++i) {
    const AxisPart<T> part = axis_part(l[i], below, before, ranks, stride);
    const Bandwidth<T> link = l[i].bandwidth * l[i].share;
    out.rate += select(part.ranks > T{1.0}, link * part.ways, Bandwidth<T>());
    out.round += l[i].latency * (part.ranks - 1.0);
    out.exchange =
        max(out.exchange, apply<TorusAllToAll, T>(
                              {.message = message, .ranks = part.ranks, .ways = part.ways, .bandwidth = link})
                              .time);
    below = below * l[i].peers;
    before = before * part.ranks;
  }
  out.rate = select(ranks > T{1.0}, out.rate, l.level1.bandwidth);  // of one rank nobody asks, but 0 divides
  return out;
}

/// Sustained rate of a level between nodes.
template <class T> [[nodiscard]] Bandwidth<T> level_rate(const Level<T>& level) {
  return apply<FlightLimitedRate, T>({.bandwidth = level.bandwidth * level.share,
                                      .in_flight = level.in_flight,
                                      .latency = level.latency})
      .rate;
}

/// Sustained rate at which a device of a group of `ranks` sends inside its node.
template <class T>
[[nodiscard]] Bandwidth<T> inside_rate(const T& ranks, const T& stride, const Links<T>& l) {
  if (l.form.axes > 0) return torus_part(Data<T>(), ranks, stride, l).rate;
  return group_bandwidth(ranks, l) * l.level1.share;
}

/// Lays `ranks` devices, `stride` apart, on the levels. What leaves a node crosses every level up to the one
/// that it goes to, so the narrowest of them counts. A ring leaves each part of a level once, over what the
/// devices of the part have together.
template <class T> [[nodiscard]] Spread<T> spread_of(const T& ranks, const T& stride, const Links<T>& links) {
  const int first = inner_levels(links), top = links.form.levels - 1;
  const T one{1.0};
  T below = devices_inside(links), here = clamp(floor(below / stride), one, ranks);
  Spread<T> out;
  out.ranks = ranks;
  out.inner = here;
  out.ring = out.exchange = level_rate(links[first]);
  out.step = out.climb = links[first].latency;
  out.nodes = ceil_div(ranks, here);
  if (top == first) return out;
  struct OfLevel {
    T parts, all;  // of a level in one part of the next, and in the group
    Bandwidth<T> way;
  };
  std::array<OfLevel, Links<T>::most_levels> levels;
  const auto at = [&levels](int i) -> OfLevel& { return levels[static_cast<std::size_t>(i)]; };
  // A level with one peer joins nothing, and the highest whatever the others do not.
  const auto own = [&](int i, const Bandwidth<T>& so_far) {
    const Bandwidth<T> narrower = min(so_far, level_rate(links[i]));
    return i == top ? narrower : select(links[i].peers > one, narrower, so_far);
  };
  at(first - 1).way = out.ring = out.exchange = Bandwidth<T>::from_base(T{1e30});
  for (int i = first; i <= top; ++i) {
    below = below * links[i].peers;
    const T reached = i == top ? ranks : clamp(floor(below / stride), here, ranks);
    at(i).parts = ceil_div(reached, here);
    at(i).all = ceil_div(ranks, here);
    at(i).way = own(i, at(i - 1).way);
    out.ring = select(at(i).parts > one, min(out.ring, at(i).way * (here / out.inner)), out.ring);
    // In turn each level works on what those below it left a device: its part of theirs.
    out.turns += links[i].latency * (at(i).parts - 1.0);
    out.per_byte += (1.0 - 1.0 / at(i).parts) * (out.inner / here) * (Data<T>::from_base(T{1.0}) / at(i).way);
    here = reached;
  }
  Time<T> steps, climb;
  // In an all-to-all, a level carries farther / away of the bytes that leave a node.
  const T away = max(T(1.0 - 1.0 / out.nodes), T{1e-9});
  for (int i = first; i <= top; ++i) {
    const T farther = 1.0 - 1.0 / at(i).all;
    const Bandwidth<T> each = at(i).way * (away / max(farther, T{1e-9}));
    out.exchange = select(at(i).all > one, min(out.exchange, each), out.exchange);
    steps += links[i].latency * (i == top ? T(at(i).all - 1.0) : T(at(i).all - at(i + 1).all));
    climb += links[i].latency * ceil(log2(at(i).parts));
  }
  out.step = steps / max(T(out.nodes - 1.0), one);
  out.climb = climb / max(T(ceil(log2(out.nodes))), one);
  return out;
}

/// All-reduce of a group inside one node: the fastest of ring, switch and an engine's own kernel, or that
/// kernel alone where it takes all messages of so few rows.
template <class T>
[[nodiscard]] Time<T> all_reduce_inside(const Data<T>& message, const T& rows, const T& ranks,
                                        const Links<T>& l) {
  const Bandwidth<T> bandwidth = group_bandwidth(ranks, l);
  const T& share = l.level1.share;
  const Time<T> ring = apply<ProtocolRing, T>({.message = message,
                                               .ranks = ranks,
                                               .passes = T{2.0},
                                               .bandwidth = bandwidth,
                                               .launch = l.launch,
                                               .hop = l.hop,
                                               .sync = l.sync,
                                               .low_latency_share = l.low_latency_share,
                                               .share = share,
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
                                                    .share = l.direct_share,
                                                    .message_rows = rows,
                                                    .one_shot_rows = l.direct_rows})
                             .time;
  const auto few = rows > T{0.0} && rows <= l.direct_rows;
  return select(l.direct > T{0.5}, select(few, direct, min(library, direct)), library);
}

/// Whether rings nest over the levels between nodes: only where that was asked for. Libraries take the nodes
/// as equal, whatever joins them (hu2025nccl, section V), and a level in two would make what they do faster.
template <class T> [[nodiscard]] bool rings_nest(const Links<T>& l) {
  return l.form.algorithm != CollectiveAlgorithm::usual && l.form.levels - inner_levels(l) > 1;
}

/// Passes of nested rings over what a device of a node has: level after level, each with the part that the
/// one below left it, so that start-ups add up over levels and not over nodes.
template <class T>
[[nodiscard]] Time<T> nested_rings(const Data<T>& part, double passes, const Spread<T>& s) {
  return passes * (s.turns + s.per_byte * part.base());
}

/// All-reduce between nodes, each device with its part of the message: the fastest of a ring over all nodes,
/// nested rings where they were asked for, double binary tree and switches that add up. Rings have the
/// bandwidth, the tree the depth, so that many nodes with little data take the tree.
template <class T>
[[nodiscard]] Time<T> all_reduce_between(const Data<T>& message, const Spread<T>& s, const Links<T>& l) {
  const Data<T> part = message / s.inner;
  const Time<T> ring =
      apply<RingAllReduce, T>({.message = part, .ranks = s.nodes, .bandwidth = s.ring, .alpha = s.step}).time;
  const Time<T> tree = apply<DoubleBinaryTreeAllReduce, T>(
                           {.message = part, .ranks = s.nodes, .bandwidth = s.ring, .alpha = s.climb})
                           .time;
  const Time<T> rings = rings_nest(l) ? min(ring, nested_rings(part, 2.0, s)) : ring;
  const Time<T> best = min(rings, tree);
  if (!l.form.reduces) return best;
  const Time<T> up_and_down = 2.0 * ceil(log2(s.nodes)) * s.climb;
  const Time<T> added =
      apply<PointToPoint, T>({.message = part, .bandwidth = s.ring, .alpha = up_and_down}).time;
  return select(s.nodes > T{1.0}, min(best, added), Time<T>());
}

/// A way through all levels under both protocols: short messages start without the bulk protocol's
/// synchronization and fill the links with flags to the share that they do inside a node.
template <class T, class F> [[nodiscard]] Time<T> either_protocol(const Links<T>& l, const F& way) {
  const T flags = min(T(l.low_latency_share / l.level1.share), T{1.0});
  return min(way(l.launch + l.sync, T{1.0}), way(l.launch, flags));
}

/// A ring through all devices of all nodes, `passes` times round. Its (ranks - 1) steps of a pass leave a
/// node as often as the ring does: `nodes` times.
template <class T>
[[nodiscard]] Time<T> ring_through(const Data<T>& message, const Spread<T>& s, const Bandwidth<T>& link,
                                   const Links<T>& l, double passes = 2.0) {
  const T crossings = min(s.nodes, T(s.ranks - 1.0));
  return either_protocol(l, [&](const Time<T>& start, const T& share) {
    return apply<LeveledRing, T>({.message = message,
                                  .ranks = s.ranks,
                                  .passes = T{passes},
                                  .start = start,
                                  .round = (s.ranks - 1.0 - crossings) * l.hop + crossings * s.step,
                                  .narrowest = share * min(link, s.ring * s.inner)})
        .time;
  });
}

/// All-reduce through all levels at once: the fastest of ring, tree and the switch of each node.
template <class T>
[[nodiscard]] Time<T> all_reduce_through(const Data<T>& message, const Spread<T>& s, const Bandwidth<T>& link,
                                         const Links<T>& l) {
  const Time<T> between = ceil(log2(s.nodes)) * s.climb;
  const Bandwidth<T> way = s.ring * s.inner;
  const Time<T> tree = either_protocol(l, [&](const Time<T>& start, const T& share) {
    return apply<LeveledTree, T>({.message = message,
                                  .inner = s.inner,
                                  .nodes = s.nodes,
                                  .start = start,
                                  .climb = between + (s.inner - 1.0) * l.hop,
                                  .link = share * link,
                                  .way = share * way})
        .time;
  });
  const Time<T> best = min(ring_through(message, s, link, l), tree);
  const T most{l.form.reduces ? 1.0 : 2.0};
  const Time<T> in_switch =
      apply<LeveledSwitch, T>({.message = message,
                               .inner = s.inner,
                               .nodes = s.nodes,
                               .crossings = min(T(s.nodes - 1.0), most),
                               .start = l.launch + l.switch_start,
                               .climb = between,
                               .link = l.level1.bandwidth * max(l.switch_share, T{1e-6}),
                               .way = way})
          .time;
  return select(l.switch_share > T{0.0}, min(best, in_switch), best);
}

/// Gather or scatter of a group inside one node.
template <class T>
[[nodiscard]] Time<T> gather_inside(const Data<T>& message, const T& ranks, const Links<T>& l) {
  return apply<ProtocolRing, T>({.message = message,
                                 .ranks = ranks,
                                 .passes = T{1.0},
                                 .bandwidth = group_bandwidth(ranks, l),
                                 .launch = l.launch,
                                 .hop = l.hop,
                                 .sync = l.sync,
                                 .low_latency_share = l.low_latency_share,
                                 .share = l.level1.share,
                                 .copy_ratio = l.copy_ratio})
      .time;
}

/// Copies of a token that go to the parts of its group, over one for each of its experts.
template <class T> [[nodiscard]] T copies_share(const RoutedRows<T>& r, const T& parts) {
  return apply<DistinctParts, T>({.experts = r.experts,
                                  .top_k = r.top_k,
                                  .groups = r.groups,
                                  .limited_groups = r.limited,
                                  .parts = parts})
             .visited /
         r.top_k;
}

/// All-to-all: the part for the own node and the part for the others leave over different links at once.
/// Where a token crosses once to a node and is passed on there, the links inside carry all copies for ranks,
/// those of other nodes' tokens too, while the next pieces come in.
template <class T>
[[nodiscard]] Time<T> all_to_all_time(const Op<T>& op, const Spread<T>& s, const Links<T>& l) {
  const T away = 1.0 - 1.0 / s.nodes;
  const T& stride = op.stride;
  Data<T> message = op.message, stays = op.message * (1.0 - away);
  if (op.routed.one_copy) {
    stays = op.message * copies_share(op.routed, s.ranks);
    message = op.message * copies_share(op.routed, s.nodes);
  }
  const Time<T> outside = message * away / s.exchange + s.step * (s.nodes - 1.0);
  if (l.form.axes > 0) {
    return max(l.launch * min(T(s.inner - 1.0), T{1.0}) + torus_part(stays, s.inner, stride, l).exchange,
               outside);
  }
  const Time<T> inside = apply<ProtocolAllToAll, T>({.message = stays,
                                                     .ranks = s.inner,
                                                     .bandwidth = group_bandwidth(s.inner, l),
                                                     .launch = l.launch,
                                                     .hop = l.hop,
                                                     .sync = l.sync,
                                                     .pair_share = l.pair_share,
                                                     .share = l.level1.share,
                                                     .copy_ratio = l.copy_ratio})
                             .time;
  return max(inside, outside);
}

/// One message to the device that is `stride` away, over the narrowest level on its way.
template <class T>
[[nodiscard]] Time<T> point_to_point_time(const Data<T>& message, const T& stride, const Links<T>& l) {
  Bandwidth<T> bandwidth = group_bandwidth(T{2.0}, l) * l.level1.share;
  Bandwidth<T> way = Bandwidth<T>::from_base(T{1e30});
  Time<T> alpha = l.hop;
  T below = devices_inside(l);
  const int first = inner_levels(l), top = l.form.levels - 1;
  for (int i = first; i <= top; ++i) {
    if (i > first) below = below * l[i - 1].peers;
    const auto crosses = stride >= below;
    const Bandwidth<T> narrower = min(way, level_rate(l[i]));
    way = i == top ? narrower : select(l[i].peers > T{1.0}, narrower, way);
    bandwidth = select(crosses, way, bandwidth);
    alpha = select(crosses, l[i].latency, alpha);
  }
  return apply<PointToPoint, T>({.message = message, .bandwidth = bandwidth, .alpha = l.launch + alpha}).time;
}

/// All-reduce, or gather or scatter (which mirror each other), inside one node.
template <class T>
[[nodiscard]] Time<T> reduce_or_gather_inside(const Op<T>& op, const T& ranks, const Bandwidth<T>& link,
                                              const Links<T>& l) {
  const bool reduce = op.collective == Collective::all_reduce;
  if (l.form.axes == 0)
    return reduce ? all_reduce_inside(op.message, op.m, ranks, l) : gather_inside(op.message, ranks, l);
  return apply<LeveledRing, T>({.message = op.message,
                                .ranks = ranks,
                                .passes = T{reduce ? 2.0 : 1.0},
                                .start = l.launch,
                                .round = torus_part(op.message, ranks, op.stride, l).round,
                                .narrowest = link})
      .time;
}

/// The ways of a collective over several levels.
template <class T = double> struct CollectiveWays {
  Time<T> nested;  ///< level after level
  Time<T> flat;    ///< through all levels at once
};

/// Ways of a reduction, gather or scatter. In turn: reduce inside, between the nodes each device with its
/// part, then spread inside. A gather goes first between the nodes, each rank with its part, then inside; a
/// reduce-scatter the other way round.
template <class T>
[[nodiscard]] CollectiveWays<T> ways_of(const Op<T>& op, const Spread<T>& s, const Time<T>& inside,
                                        const Bandwidth<T>& link, const Links<T>& links) {
  if (op.collective == Collective::all_reduce)
    return {inside + all_reduce_between(op.message, s, links),
            all_reduce_through(op.message, s, link, links)};
  const Data<T> part = op.message / s.inner;
  const Time<T> ring =
      apply<RingAllGather, T>({.message = part, .ranks = s.nodes, .bandwidth = s.ring, .alpha = s.step}).time;
  return {inside + (rings_nest(links) ? min(ring, nested_rings(part, 1.0, s)) : ring),
          ring_through(op.message, s, link, links, 1.0)};
}

/// Whether the ways that are left to a collective are both, or which one.
[[nodiscard]] constexpr CollectiveAlgorithm algorithm_of(Collective pattern, CollectiveAlgorithm asked) {
  if (asked != CollectiveAlgorithm::usual) return asked;
  return pattern == Collective::all_reduce ? CollectiveAlgorithm::fastest : CollectiveAlgorithm::nested;
}

/// Time of one collective of `op.ranks` devices, `op.stride` apart: of what runs through all levels at once
/// and what takes them in turn, the fastest of those that `links.form.algorithm` leaves.
template <class T> [[nodiscard]] Time<T> collective_time(const Op<T>& op, const Links<T>& links) {
  if (op.collective == Collective::none) return {};
  if (op.collective == Collective::point_to_point)
    return select(op.ranks > T{1.0}, point_to_point_time(op.message, op.stride, links), Time<T>());
  const Spread<T> s = spread_of(op.ranks, op.stride, links);
  if (op.collective == Collective::all_to_all) return all_to_all_time(op, s, links);
  const Bandwidth<T> link = inside_rate(s.inner, op.stride, links);
  const Time<T> inside = reduce_or_gather_inside(op, s.inner, link, links);
  if constexpr (std::is_same_v<T, double>)  // a recording takes both ways, a number only its own
    if (s.nodes <= 1) return inside;
  const CollectiveWays<T> ways = ways_of(op, s, inside, link, links);
  const Time<T> nested = named("nested", ways.nested);
  const auto algorithm = algorithm_of(op.collective, links.form.algorithm);
  if (algorithm == CollectiveAlgorithm::nested) return nested;
  const Time<T> flat = named("flat", select(s.nodes > T{1.0}, ways.flat, inside));
  return algorithm == CollectiveAlgorithm::flat ? flat : min(nested, flat);
}

/// Which way a collective takes: "inside" one node, "nested" or "flat"; an exchange of all with all, and what
/// goes to one device, have one way, "direct".
[[nodiscard]] std::string_view collective_way(const Op<>& op, const Links<>& links);

}  // namespace mlsysim
