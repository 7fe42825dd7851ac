#pragma once
/// Collectives that run through all levels of a machine at once, with chunks pipelined over the levels.
///
///   ring       = start + passes (round + (1 - 1/ranks) message / narrowest)                           [s]
///   tree       = start + 2 climb + bandwidth_factor message max(min(inner - 1, 2) / link,
///                                                               min(nodes - 1, 2) / way)
///   switch     = start + 2 climb + max((1 + 1/inner) message / link, crossings message / way)
///   all-to-all = message floor(ranks^2 / 4) / (ranks ways bandwidth)    one axis of a torus
///
/// round, climb: start-ups once round the ring, or from the farthest leaf to the root [s]. narrowest: rate of
/// the slowest edge [B/s]. link: device to its node. way: all ports of a node. inner: ranks of a node.
/// Limits: the slowest level sets the pace, levels do not contend, one rank costs exactly 0.
/// Example: ring all-reduce of 1 GB, 16 ranks, 50 GB/s, start 20 us, round 30 us: 80 us + 37.5 ms = 37.58 ms.
/// @cite patarasuk2009allreduce, the bandwidth-optimal ring
/// @cite sanders2009twotree
/// @cite hu2025nccl, sections III-D and V

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

namespace detail {
template <class T> struct LeveledResult {
  Time<T> time;
  static constexpr auto fields() { return rows(field(&LeveledResult::time, key::time)); }
};
}  // namespace detail

/// Rate of a link that may have only `in_flight` bytes under way [B/s].
///
/// rate = min(bandwidth, in_flight / (2 latency)): sent bytes hold their buffer until the acknowledgment is
/// back, one round trip later (Little's law). in_flight 0 means unknown, and does not limit. Example: 50
/// GB/s, 1 MB in flight, 12.5 us: 40 GB/s. Ranges: bandwidth > 0; in_flight, latency >= 0.
/// @cite little1961proof; hu2025nccl, section IV (buffers of a channel)
struct FlightLimitedRate {
  static constexpr LawInfo info{"FlightLimitedRate", "rate = min(bandwidth, in_flight / (2 latency))",
                                "little1961proof", "L = lambda W", "one window, all of it always in use"};
  template <class T> struct Inputs {
    Bandwidth<T> bandwidth;
    Data<T> in_flight;
    Time<T> latency;
    static constexpr auto fields() {
      return rows(field(&Inputs::bandwidth, key::bandwidth),
                  field(&Inputs::in_flight, "in_flight", "MB", "bytes on their way at once; 0: not known")
                      .non_negative(),
                  field(&Inputs::latency, "latency", "us", "start-up of a message, one way").non_negative());
    }
  };
  template <class T> struct Result {
    Bandwidth<T> rate;
    static constexpr auto fields() {
      return rows(field(&Result::rate, "rate", "GB/s", "what the link carries"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const Bandwidth<T> window = in.in_flight / max(2.0 * in.latency, Time<T>::from_base(T(1e-12)));
    return {.rate = select(in.in_flight > Data<T>(), min(in.bandwidth, window), in.bandwidth)};
  }
};

/// Time of a ring through all devices of all nodes [s], as libraries run it over one channel a network card.
///
/// An all-reduce passes the ring twice, a gather or scatter once. On a torus each axis is a ring with its
/// part of the message, and `narrowest` the sum over the axes. Ranges: message, start, round >= 0; ranks >=
/// 1; narrowest > 0; passes 1 or 2.
/// @cite patarasuk2009allreduce, the bandwidth-optimal ring; hu2025nccl, section V (ring)
struct LeveledRing {
  static constexpr LawInfo info{"LeveledRing",
                                "time = start + passes (round + (1 - 1/ranks) message / narrowest)",
                                "patarasuk2009allreduce", "bandwidth-optimal ring",
                                "chunks are pipelined; levels do not contend; additions are free"};
  template <class T> struct Inputs {
    Data<T> message;
    T ranks, passes;
    Time<T> start, round;
    Bandwidth<T> narrowest;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::message, key::message).non_negative(),
          field(&Inputs::ranks, key::ranks).at_least(1).counted(),
          field(&Inputs::passes, "passes", "", "2: all-reduce; 1: gather or scatter").within(1, 2).counted(),
          field(&Inputs::start, "start", "us", "launch and first synchronization").non_negative(),
          field(&Inputs::round, "round", "us", "start-ups on the way once round").non_negative(),
          field(&Inputs::narrowest, "narrowest", "GB/s", "rate of the slowest edge").positive());
    }
  };
  template <class T> using Result = detail::LeveledResult<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T others = min(in.ranks - 1.0, T(1.0));
    const Time<T> transfer = (1.0 - 1.0 / in.ranks) * in.message / in.narrowest;
    return {.time = others * (in.start + in.passes * in.round) + in.passes * transfer};
  }
};

/// Time of an all-reduce over chains inside nodes and a double binary tree between them [s].
///
/// In a chain all but the ends send the message up and down. Each of the two trees carries half. A node
/// sends half of the message up in one tree. In the other it sends one and a half, up and to two children.
/// The message thus leaves each of three or more nodes twice, and each of two nodes once. Ranges: message,
/// start, climb >= 0; inner, nodes >= 1; rates > 0.
/// @cite sanders2009twotree; hu2025nccl, section V (tree)
struct LeveledTree {
  static constexpr LawInfo info{"LeveledTree",
                                "time = start + 2 climb + bandwidth_factor message max(min(inner - 1, 2) / "
                                "link, min(nodes - 1, 2) / way)",
                                "sanders2009twotree", "two trees",
                                "chunks are pipelined; levels do not contend; additions are free"};
  template <class T> struct Inputs {
    Data<T> message;
    T inner, nodes;
    Time<T> start, climb;
    Bandwidth<T> link, way;
    T bandwidth_factor{1.05};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::message, key::message).non_negative(),
          field(&Inputs::inner, "inner", "", "ranks of a node").at_least(1).counted(),
          field(&Inputs::nodes, "nodes", "", "nodes").at_least(1).counted(),
          field(&Inputs::start, "start", "us", "launch and first synchronization").non_negative(),
          field(&Inputs::climb, "climb", "us", "start-ups from the farthest leaf to the root").non_negative(),
          field(&Inputs::link, "link", "GB/s", "rate at which a device sends inside").positive(),
          field(&Inputs::way, "way", "GB/s", "rate at which a node sends").positive(),
          field(&Inputs::bandwidth_factor, "bandwidth_factor", "", "transfer over the bound")
              .at_least(1)
              .defaulted("convention of MLSys-im"));
    }
  };
  template <class T> using Result = detail::LeveledResult<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T others = min(in.inner * in.nodes - 1.0, T(1.0));
    const Time<T> inside = min(in.inner - 1.0, T(2.0)) * in.message / in.link,
                  between = min(in.nodes - 1.0, T(2.0)) * in.message / in.way;
    return {.time = others * (in.start + 2.0 * in.climb) + in.bandwidth_factor * max(inside, between)};
  }
};

/// Time of an all-reduce that the switch of each node adds up and a tree joins between nodes [s].
///
/// SwitchAllReduce inside a node is pipelined with the traffic that leaves it, `crossings` times the
/// message. crossings is 1 where switches between nodes add up or only two nodes take part, else 2
/// (LeveledTree). Example: 1 GB, inner 8, crossings 2, link 400 GB/s, way 350 GB/s, start 20 us, climb 25
/// us: 5.78 ms. Ranges as for LeveledTree; crossings >= 0.
/// @cite hu2025nccl, section III-D (NVLS), combined with a tree between nodes
struct LeveledSwitch {
  static constexpr LawInfo info{
      "LeveledSwitch", "time = start + 2 climb + max((1 + 1/inner) message / link, crossings message / way)",
      "hu2025nccl", "section III-D, NVLS and a tree", "chunks are pipelined; levels do not contend"};
  template <class T> struct Inputs {
    Data<T> message;
    T inner, nodes, crossings;
    Time<T> start, climb;
    Bandwidth<T> link, way;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::message, key::message).non_negative(),
          field(&Inputs::inner, "inner", "", "ranks of a node").at_least(1).counted(),
          field(&Inputs::nodes, "nodes", "", "nodes").at_least(1).counted(),
          field(&Inputs::crossings, "crossings", "", "times that the message leaves a node").non_negative(),
          field(&Inputs::start, "start", "us", "launch and multicast set-up").non_negative(),
          field(&Inputs::climb, "climb", "us", "start-ups from the farthest node to the root").non_negative(),
          field(&Inputs::link, "link", "GB/s", "rate at which a device sends to the switch").positive(),
          field(&Inputs::way, "way", "GB/s", "rate at which a node sends").positive());
    }
  };
  template <class T> using Result = detail::LeveledResult<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T others = min(in.inner * in.nodes - 1.0, T(1.0));
    const Time<T> inside = others * (1.0 + 1.0 / in.inner) * in.message / in.link,
                  between = min(in.nodes - 1.0, T(1.0)) * in.crossings * in.message / in.way;
    return {.time = others * (in.start + 2.0 * in.climb) + max(inside, between)};
  }
};

/// Time of an all-to-all along one axis of a torus [s].
///
/// A message travels floor(ranks^2 / 4) / ranks links on average by the shorter way round. A device sends
/// over `ways` links: 2 on a closed axis, 1 on an open one. bandwidth is one way, per link. Example: 1 GB,
/// 16 ranks, 2 ways of 50 GB/s: 40 ms. Ranges: message >= 0; ranks >= 1; ways, bandwidth > 0.
/// @cite dallytowles2004, section 5.2 (throughput of tori)
struct TorusAllToAll {
  static constexpr LawInfo info{"TorusAllToAll", "time = message floor(ranks^2 / 4) / (ranks ways bandwidth)",
                                "dallytowles2004", "section 5.2", "uniform traffic, shortest ways"};
  template <class T> struct Inputs {
    Data<T> message;
    T ranks, ways;
    Bandwidth<T> bandwidth;
    static constexpr auto fields() {
      return rows(field(&Inputs::message, key::message).non_negative(),
                  field(&Inputs::ranks, key::ranks).at_least(1).counted(),
                  field(&Inputs::ways, "ways", "", "links of a device on the axis: 2 closed, 1 open")
                      .within(0.001, 2),
                  field(&Inputs::bandwidth, key::bandwidth).positive());
    }
  };
  template <class T> using Result = detail::LeveledResult<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T hops = named("hops", floor(in.ranks * in.ranks / 4.0) / in.ranks);
    return {.time = hops * in.message / (in.ways * in.bandwidth)};
  }
};

}  // namespace mlsysim
