#pragma once
/// Times of collectives in the alpha-beta model: a message of M bytes costs alpha + M / bandwidth.
///
///   ring gather or scatter, all-to-all = (ranks - 1) alpha + (1 - 1/ranks) message / bandwidth   [s]
///   ring all-reduce                    = 2 (ranks - 1) alpha + 2 (1 - 1/ranks) message / bandwidth
///   tree all-reduce                    = 2 ceil(log2 ranks) (alpha + message / bandwidth)
///   bus bandwidth                      = passes (1 - 1/ranks) message / time                      [B/s]
///
/// message: whole vector of a rank, before a reduce or after a gather [B]. bandwidth: one way [B/s].
/// alpha: start-up of one message [s]. passes: 2 for an all-reduce, else 1.
/// Limits: equal ranks, no contention, additions are free. One rank costs exactly 0.
/// Example: ring all-reduce of 1 GB over 8 ranks at 450 GB/s, alpha 2 us: 3.889 ms + 28 us = 3.917 ms.
/// @cite thakur2005collectives, sections 3 and 4.1
/// @cite patarasuk2009allreduce, the bandwidth-optimal ring
/// @cite nccltests2024performance, section "Bus bandwidth"

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

namespace detail {

/// Inputs of a collective on equal links.
template <class T> struct CollectiveInputs {
  Data<T> message;
  T ranks;
  Bandwidth<T> bandwidth;
  Time<T> alpha;
  static constexpr auto fields() {
    return rows(field(&CollectiveInputs::message, key::message), field(&CollectiveInputs::ranks, key::ranks),
                field(&CollectiveInputs::bandwidth, key::bandwidth),
                field(&CollectiveInputs::alpha, key::alpha));
  }
};

/// Time of a collective and its two parts.
template <class T> struct CollectiveResult {
  Time<T> time, startup, transfer;
  static constexpr auto fields() {
    return rows(field(&CollectiveResult::time, key::time),
                field(&CollectiveResult::startup, "startup", "us", "part that grows with alpha"),
                field(&CollectiveResult::transfer, "transfer", "ms", "part that grows with the message"));
  }
};

template <class T>
[[nodiscard]] constexpr CollectiveResult<T> collective_result(Time<T> startup, Time<T> transfer) {
  return {.time = startup + transfer, .startup = startup, .transfer = transfer};
}

}  // namespace detail

/// Time of one message between two ranks [s].
///
/// Ranges: message, alpha >= 0; bandwidth > 0.
/// @cite thakur2005collectives, section 3 (cost model)
struct PointToPoint {
  static constexpr LawInfo info{"PointToPoint", "time = alpha + message / bandwidth", "thakur2005collectives",
                                "section 3", "one idle link"};
  template <class T> struct Inputs {
    Data<T> message;
    Bandwidth<T> bandwidth;
    Time<T> alpha;
    static constexpr auto fields() {
      return rows(field(&Inputs::message, key::message), field(&Inputs::bandwidth, key::bandwidth),
                  field(&Inputs::alpha, key::alpha));
    }
  };
  template <class T> using Result = detail::CollectiveResult<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return detail::collective_result<T>(in.alpha, in.message / in.bandwidth);
  }
};

/// Time of a ring all-gather [s]: each rank contributes message / ranks and ends with the whole message.
///
/// Bandwidth-optimal. The start-up part grows with the ring. Ranges: message, alpha >= 0; ranks >= 1;
/// bandwidth > 0.
/// @cite thakur2005collectives, section 4.1
struct RingAllGather {
  static constexpr LawInfo info{
      "RingAllGather", "time = (1 - 1/ranks) message / bandwidth + (ranks - 1) alpha",
      "thakur2005collectives", "section 4.1", "equal ranks on a ring of full-duplex links"};
  template <class T> using Inputs = detail::CollectiveInputs<T>;
  template <class T> using Result = detail::CollectiveResult<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return detail::collective_result<T>((in.ranks - 1.0) * in.alpha,
                                        (1.0 - 1.0 / in.ranks) * in.message / in.bandwidth);
  }
};

/// Time of a ring reduce-scatter [s]: each rank starts with a whole message and ends with its reduced share.
///
/// It takes as long as the all-gather: adding the numbers is not charged. Ranges as for RingAllGather.
/// @cite patarasuk2009allreduce, the bandwidth-optimal ring
struct RingReduceScatter {
  static constexpr LawInfo info{"RingReduceScatter",
                                "time = (1 - 1/ranks) message / bandwidth + (ranks - 1) alpha",
                                "patarasuk2009allreduce", "bandwidth-optimal ring",
                                "equal ranks on a ring of full-duplex links; additions are free"};
  template <class T> using Inputs = detail::CollectiveInputs<T>;
  template <class T> using Result = detail::CollectiveResult<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return detail::collective_result<T>((in.ranks - 1.0) * in.alpha,
                                        (1.0 - 1.0 / in.ranks) * in.message / in.bandwidth);
  }
};

/// Time of a ring all-reduce [s]: reduce-scatter, then all-gather.
///
/// No algorithm moves fewer bytes per rank. The start-up part makes it slow for small messages on many
/// ranks. Ranges as for RingAllGather.
/// @cite patarasuk2009allreduce, the bandwidth-optimal ring
struct RingAllReduce {
  static constexpr LawInfo info{"RingAllReduce",
                                "time = 2 (1 - 1/ranks) message / bandwidth + 2 (ranks - 1) alpha",
                                "patarasuk2009allreduce", "bandwidth-optimal ring",
                                "equal ranks on a ring of full-duplex links; additions are free"};
  template <class T> using Inputs = detail::CollectiveInputs<T>;
  template <class T> using Result = detail::CollectiveResult<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return detail::collective_result<T>(2.0 * (in.ranks - 1.0) * in.alpha,
                                        2.0 * (1.0 - 1.0 / in.ranks) * in.message / in.bandwidth);
  }
};

/// Time of a binomial-tree all-reduce without pipelining [s]: reduce to one rank, then broadcast.
///
/// Every level forwards the whole message, so it suits only messages below about alpha times bandwidth.
/// Ranges as for RingAllGather.
/// @cite thakur2005collectives, binomial trees: reduce, then broadcast
struct TreeAllReduce {
  static constexpr LawInfo info{"TreeAllReduce", "time = 2 ceil(log2 ranks) (alpha + message / bandwidth)",
                                "thakur2005collectives", "binomial reduce and broadcast",
                                "whole messages on every level; additions are free"};
  template <class T> using Inputs = detail::CollectiveInputs<T>;
  template <class T> using Result = detail::CollectiveResult<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T levels = named("levels", ceil(log2(in.ranks)));
    return detail::collective_result<T>(2.0 * levels * in.alpha, 2.0 * levels * in.message / in.bandwidth);
  }
};

/// Time of a pipelined double-binary-tree all-reduce [s].
///
/// time = latency_factor 2 ceil(log2 ranks) alpha + bandwidth_factor 2 (1 - 1/ranks) message / bandwidth: two
/// complementary trees carry half of the message each, so all links work, at logarithmic depth. The two
/// factors are estimates of what pipelining in chunks adds over the bounds; 1.2 and 1.05 are conventions, not
/// measurements. Ranges as for RingAllGather; factors >= 1. The depth is a whole number of levels.
/// @cite sanders2009twotree
struct DoubleBinaryTreeAllReduce {
  static constexpr LawInfo info{
      "DoubleBinaryTreeAllReduce",
      "time = latency_factor 2 ceil(log2 ranks) alpha + bandwidth_factor 2 (1 - 1/ranks) message / bandwidth",
      "sanders2009twotree", "two-tree reduction and broadcast",
      "chunks are pipelined through two complementary trees; additions are free"};
  template <class T> struct Inputs {
    Data<T> message;
    T ranks;
    Bandwidth<T> bandwidth;
    Time<T> alpha;
    T latency_factor{1.2}, bandwidth_factor{1.05};
    static constexpr auto fields() {
      return rows(field(&Inputs::message, key::message), field(&Inputs::ranks, key::ranks),
                  field(&Inputs::bandwidth, key::bandwidth), field(&Inputs::alpha, key::alpha),
                  field(&Inputs::latency_factor, "latency_factor", "", "start-up over the bound")
                      .at_least(1)
                      .defaulted("convention of MLSys-im"),
                  field(&Inputs::bandwidth_factor, "bandwidth_factor", "", "transfer over the bound")
                      .at_least(1)
                      .defaulted("convention of MLSys-im"));
    }
  };
  template <class T> using Result = detail::CollectiveResult<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T levels = named("levels", ceil(log2(in.ranks)));
    return detail::collective_result<T>(
        in.latency_factor * 2.0 * levels * in.alpha,
        in.bandwidth_factor * 2.0 * (1.0 - 1.0 / in.ranks) * in.message / in.bandwidth);
  }
};

/// Time of an all-to-all by pairwise exchange [s]: each rank sends message / ranks to each rank.
///
/// message is the sum over all destinations, the rank's own share included. Ranges as for RingAllGather.
/// @cite thakur2005collectives, all-to-all by pairwise exchange
struct AllToAll {
  static constexpr LawInfo info{"AllToAll", "time = (1 - 1/ranks) message / bandwidth + (ranks - 1) alpha",
                                "thakur2005collectives", "pairwise exchange",
                                "equal shares; one exchange at a time; no contention"};
  template <class T> using Inputs = detail::CollectiveInputs<T>;
  template <class T> using Result = detail::CollectiveResult<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return detail::collective_result<T>((in.ranks - 1.0) * in.alpha,
                                        (1.0 - 1.0 / in.ranks) * in.message / in.bandwidth);
  }
};

/// Time of an all-reduce over nodes of several devices [s].
///
/// Reduce-scatter inside each node, ring all-reduce of 1/ranks_per_node of the message between nodes (every
/// device on its own network link, all at once), all-gather inside each node. The three phases follow each
/// other without overlap. bandwidth_inter is the one-way rate per device. Ranges as for RingAllGather.
/// @cite thakur2005collectives; phases composed from RingReduceScatter, RingAllReduce and RingAllGather
struct HierarchicalAllReduce {
  static constexpr LawInfo info{
      "HierarchicalAllReduce",
      "time = reduce_scatter(message, ranks_per_node) + ring(message / ranks_per_node, nodes) + "
      "all_gather(message, ranks_per_node)",
      "thakur2005collectives", "composition", "one network link per device; phases do not overlap"};
  template <class T> struct Inputs {
    Data<T> message;
    T ranks_per_node, nodes;
    Bandwidth<T> bandwidth_intra, bandwidth_inter;
    Time<T> alpha_intra, alpha_inter;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::message, key::message),
          field(&Inputs::ranks_per_node, "ranks_per_node", "", "devices of one node").at_least(1).counted(),
          field(&Inputs::nodes, "nodes", "", "nodes").at_least(1).counted(),
          field(&Inputs::bandwidth_intra, "bandwidth_intra", "GB/s", "one-way rate inside a node").positive(),
          field(&Inputs::bandwidth_inter, "bandwidth_inter", "GB/s", "one-way network rate per device")
              .positive(),
          field(&Inputs::alpha_intra, "alpha_intra", "us", "start-up latency inside a node").non_negative(),
          field(&Inputs::alpha_inter, "alpha_inter", "us", "start-up latency between nodes").non_negative());
    }
  };
  template <class T> struct Result {
    Time<T> time, intra, inter;
    static constexpr auto fields() {
      return rows(field(&Result::time, key::time),
                  field(&Result::intra, "intra", "ms", "part inside the nodes"),
                  field(&Result::inter, "inter", "ms", "part between the nodes"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto scatter = apply<RingReduceScatter, T>({.message = in.message,
                                                      .ranks = in.ranks_per_node,
                                                      .bandwidth = in.bandwidth_intra,
                                                      .alpha = in.alpha_intra});
    const auto between = apply<RingAllReduce, T>({.message = in.message / in.ranks_per_node,
                                                  .ranks = in.nodes,
                                                  .bandwidth = in.bandwidth_inter,
                                                  .alpha = in.alpha_inter});
    const auto gather = apply<RingAllGather, T>({.message = in.message,
                                                 .ranks = in.ranks_per_node,
                                                 .bandwidth = in.bandwidth_intra,
                                                 .alpha = in.alpha_intra});
    const auto intra = scatter.time + gather.time;
    return {.time = intra + between.time, .intra = intra, .inter = between.time};
  }
};

/// Bandwidths by which benchmarks report a collective [B/s].
///
/// algorithm = message / time. Bus bandwidth can be compared with a link's rate for any number of ranks.
/// Ranges: message >= 0; time > 0; ranks >= 1; passes 1 or 2.
/// @cite nccltests2024performance, section "Bus bandwidth"
struct BusBandwidth {
  static constexpr LawInfo info{"BusBandwidth", "bus = passes (1 - 1/ranks) message / time",
                                "nccltests2024performance", "section Bus bandwidth",
                                "ring-equivalent traffic"};
  template <class T> struct Inputs {
    Data<T> message;
    T ranks, passes;
    Time<T> time;
    static constexpr auto fields() {
      return rows(field(&Inputs::message, key::message), field(&Inputs::ranks, key::ranks),
                  field(&Inputs::passes, "passes", "", "2: all-reduce; 1: gather, scatter, all-to-all")
                      .within(1, 2)
                      .counted(),
                  field(&Inputs::time, key::time).positive());
    }
  };
  template <class T> struct Result {
    Bandwidth<T> algorithm, bus;
    static constexpr auto fields() {
      return rows(field(&Result::algorithm, "algorithm", "GB/s", "message over time"),
                  field(&Result::bus, "bus", "GB/s", "rate that each link carries"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto algorithm = named("algorithm", in.message / in.time);
    return {.algorithm = algorithm, .bus = in.passes * (1.0 - 1.0 / in.ranks) * algorithm};
  }
};

}  // namespace mlsysim
