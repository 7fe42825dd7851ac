#pragma once
/// Collectives inside one node as libraries run them, the fastest of several protocols and algorithms [s].
///
///   ring       = launch + min(passes (ranks - 1) hop + bus / (low_latency_share bandwidth),
///                    sync + bus / (share bandwidth) + (2 - passes) message / (ranks copy_ratio bandwidth))
///   switch     = start + (1 + 1/ranks) message / (share bandwidth)
///   direct     = start + min((ranks - 1) (hop + wire), second + 2 (ranks - 1) hop + 2 (1 - 1/ranks) wire)
///
/// bus = passes (1 - 1/ranks) message. wire = message / (share bandwidth). passes: 2 for all-reduce, else 1.
/// hop, sync, second: step of the low-latency protocol, start of the bulk protocol, second phase [s].
/// *share: part of a device's one-way link bandwidth.
/// Limits: equal ranks, no contention. One rank costs exactly 0.
/// Example: switch all-reduce, 1 MB, 8 ranks, 450 GB/s, share 0.8, start 10 us: 10 + 3.125 = 13.1 us.
/// @cite hu2025nccl, section III-D, section IV and table I
/// @cite vllm-custom-allreduce

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Time of a ring collective under two protocols [s].
///
/// The low-latency protocol sends data and flag together: passes (ranks - 1) short steps, and a small share
/// of the link, since half of its bytes are flags. The bulk protocol synchronizes once and then streams; a
/// gather or scatter (passes 1) also copies its own share. Ranges: message, times >= 0; ranks >= 1;
/// bandwidth, shares > 0.
/// @cite hu2025nccl, section IV (protocols) and table I
struct ProtocolRing {
  static constexpr LawInfo info{"ProtocolRing", "time = launch + min(low-latency protocol, bulk protocol)",
                                "hu2025nccl", "section IV, protocols LL and Simple",
                                "equal ranks in one node; no contention"};
  template <class T> struct Inputs {
    Data<T> message;
    T ranks, passes;
    Bandwidth<T> bandwidth;
    Time<T> launch, hop, sync;
    T low_latency_share, share, copy_ratio;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::message, key::message), field(&Inputs::ranks, key::ranks),
          field(&Inputs::passes, "passes", "", "2: all-reduce; 1: gather or scatter").within(1, 2).counted(),
          field(&Inputs::bandwidth, key::bandwidth), field(&Inputs::launch, key::launch),
          field(&Inputs::hop, "hop", "us", "one step of the low-latency protocol").non_negative(),
          field(&Inputs::sync, "sync", "us", "start of the bulk protocol").non_negative(),
          field(&Inputs::low_latency_share, "low_latency_share", "", "share of the link, low latency")
              .within(0.001, 1),
          field(&Inputs::share, "share", "", "share of the link, bulk").within(0.001, 1),
          field(&Inputs::copy_ratio, "copy_ratio", "", "local copy rate over bandwidth").positive());
    }
  };
  template <class T> struct Result {
    Time<T> time;
    static constexpr auto fields() { return rows(field(&Result::time, key::time)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto wire = named("wire", in.message / in.bandwidth);
    const T bus = in.passes * (1.0 - 1.0 / in.ranks), others = in.ranks - 1.0;
    const Time<T> low = in.passes * others * in.hop + wire * (bus / in.low_latency_share);
    const Time<T> bulk = in.sync + wire * (bus / in.share + (2.0 - in.passes) / (in.ranks * in.copy_ratio));
    // One rank: the low-latency side is 0, and so is the launch.
    return {.time = in.launch * min(others, T(1.0)) + min(low, bulk)};
  }
};

/// Time of an all-reduce that the switch adds up [s].
///
/// Each rank sends its message once and receives the sum, its own share twice. share 0 means that the
/// switch cannot reduce, and the time then exceeds any other. Ranges: message, start >= 0; ranks >= 1;
/// bandwidth > 0; share in [0, 1].
/// @cite hu2025nccl, section III-D (NVLS)
struct SwitchAllReduce {
  static constexpr LawInfo info{"SwitchAllReduce", "time = start + (1 + 1/ranks) message / (share bandwidth)",
                                "hu2025nccl", "section III-D, NVLS",
                                "one switch joins all ranks of the node"};
  template <class T> struct Inputs {
    Data<T> message;
    T ranks;
    Bandwidth<T> bandwidth;
    Time<T> start;
    T share;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::message, key::message), field(&Inputs::ranks, key::ranks),
          field(&Inputs::bandwidth, key::bandwidth),
          field(&Inputs::start, "start", "us", "launch and multicast set-up").non_negative(),
          field(&Inputs::share, "share", "", "share of the link; 0: the switch cannot reduce").within(0, 1));
    }
  };
  template <class T> using Result = ProtocolRing::Result<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T others = min(in.ranks - 1.0, T(1.0));
    // 1e-6 of a link instead of none: far past any other way, and still a number. Then the start cannot be 0
    // either.
    const T share = max(in.share, T(1e-6));
    return {.time = others * (in.start + (1.0 + 1.0 / in.ranks) * (in.message / in.bandwidth) / share)};
  }
};

/// Time of an engine's own all-reduce kernel [s].
///
/// One shot: every rank reads the whole message of every other. Two shots: every rank adds up its share, then
/// reads the others' sums, with a second synchronization. The faster is taken, or one shot wherever the rows
/// of the message are few. Example: 250 kB, 8 ranks, 450 GB/s, start 5, hop 0.5, second 3 us, share 0.8: 13.4
/// us. Ranges: message, times, rows >= 0; ranks >= 1; bandwidth, share > 0.
/// @cite vllm-custom-allreduce, one-stage and two-stage kernels; trtllm-allreduce-fusion, kOneShotMaxToken
struct DirectAllReduce {
  static constexpr LawInfo info{"DirectAllReduce", "time = start + min(one shot, second + two shots)",
                                "vllm-custom-allreduce", "one-stage and two-stage kernels",
                                "all ranks of a node read each other's memory"};
  template <class T> struct Inputs {
    Data<T> message;
    T ranks;
    Bandwidth<T> bandwidth;
    Time<T> start, hop, second;
    T share;
    T message_rows{0.0}, one_shot_rows{0.0};
    static constexpr auto fields() {
      return rows(field(&Inputs::message, key::message), field(&Inputs::ranks, key::ranks),
                  field(&Inputs::bandwidth, key::bandwidth),
                  field(&Inputs::start, "start", "us", "launch and first synchronization").non_negative(),
                  field(&Inputs::hop, "hop", "us", "each further rank").non_negative(),
                  field(&Inputs::second, "second", "us", "second phase").non_negative(),
                  field(&Inputs::share, "share", "", "share of the link").within(0.001, 1),
                  field(&Inputs::message_rows, "message_rows", "", "rows of the message; 0: not known")
                      .non_negative()
                      .defaulted("not known"),
                  field(&Inputs::one_shot_rows, "one_shot_rows", "", "rows up to which one shot is taken")
                      .non_negative()
                      .defaulted("none"));
    }
  };
  template <class T> using Result = ProtocolRing::Result<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T others = in.ranks - 1.0;
    const auto wire = named("wire", in.message / (in.share * in.bandwidth));
    const Time<T> once = others * (in.hop + wire);
    const Time<T> twice = in.second + 2.0 * (others * in.hop + (1.0 - 1.0 / in.ranks) * wire);
    const auto few = in.message_rows > T(0.0) && in.message_rows <= in.one_shot_rows;
    return {.time = in.start * min(others, T(1.0)) + select(few, once, min(once, twice))};
  }
};

/// Time of an all-to-all over direct links under two protocols [s].
///
/// Every rank sends to all others at once. A short message goes with a handshake there and back, on the small
/// share of the link that one peer's channel carries; a long one is started with one synchronization, half of
/// the ring's, and streams, its own share copied. time = launch + min(2 hop + message / (ranks pair_share
/// bandwidth), sync / 2 + (1 - 1/ranks) message / (share bandwidth) + message / (ranks copy_ratio
/// bandwidth)), and 0 for one rank. Ranges as for ProtocolRing.
/// @cite hu2025nccl, section IV (protocols)
struct ProtocolAllToAll {
  static constexpr LawInfo info{"ProtocolAllToAll",
                                "time = launch + min(low-latency protocol, bulk protocol)", "hu2025nccl",
                                "section IV, protocols LL and Simple, pairwise sends",
                                "equal shares; all pairs at once; no contention"};
  template <class T> struct Inputs {
    Data<T> message;
    T ranks;
    Bandwidth<T> bandwidth;
    Time<T> launch, hop, sync;
    T pair_share, share, copy_ratio;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::message, key::message), field(&Inputs::ranks, key::ranks),
          field(&Inputs::bandwidth, key::bandwidth), field(&Inputs::launch, key::launch),
          field(&Inputs::hop, "hop", "us", "one step of the low-latency protocol").non_negative(),
          field(&Inputs::sync, "sync", "us", "start of the bulk protocol of a ring").non_negative(),
          field(&Inputs::pair_share, "pair_share", "", "share of the link to one peer").within(0.0001, 1),
          field(&Inputs::share, "share", "", "share of the link, bulk").within(0.001, 1),
          field(&Inputs::copy_ratio, "copy_ratio", "", "local copy rate over bandwidth").positive());
    }
  };
  template <class T> using Result = ProtocolRing::Result<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto wire = named("wire", in.message / in.bandwidth);
    const T others = 1.0 - 1.0 / in.ranks;
    const Time<T> low = 2.0 * in.hop + wire / (in.ranks * in.pair_share);
    const Time<T> bulk = 0.5 * in.sync + wire * (others / in.share + 1.0 / (in.ranks * in.copy_ratio));
    return {.time = (in.launch + min(low, bulk)) * min(in.ranks - 1.0, T(1.0))};
  }
};

}  // namespace mlsysim
