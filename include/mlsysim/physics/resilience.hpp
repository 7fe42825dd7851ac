#pragma once
/// Failures by component, checkpoint intervals to higher order, spare nodes, and the cost of a checkpoint.
///
///   node mtbf  = 1 / (accelerators / accelerator_mtbf + nics / nic_mtbf + psus / psu_mtbf + other_rate)
///   interval   = 2 mtbf r (1 - r (2/3 - r/9)),  r = sqrt(checkpoint_time / (2 mtbf))
///   goodput    = max(0, 1 - checkpoint_time / interval - lost_share interval / mtbf - restart_time / mtbf)
///   coverage   = sum over k <= spares of exp(-m) m^k / k!,  m = nodes repair_time / node_mtbf
///   write_time = size / min(writers writer_bandwidth, shared_limit)
///
/// lost_share: share of an interval that a failure destroys. coverage: probability that spares suffice.
/// Limits: independent exponential failures, losses far below 1 for goodput, equal checkpoint shards.
/// Example: 8 accelerators of 50,000 h, 8 adapters of 200,000 h, 6 supplies of 100,000 h: node MTBF 3846 h.
/// Example: 1000 nodes of 5000 h, 24 h of repair, 8 spares: 4.8 in repair, coverage 94.4 %.
/// @cite daly2006, eqs. (20) and (37)
/// @cite barlowproschan1975, chapters 2 and 4

#include <mlsysim/physics/reliability.hpp>
#include <mlsysim/reflect/law.hpp>
#include <mlsysim/scalars/loops.hpp>
#include <mlsysim/units/unit.hpp>

#include <array>

namespace mlsysim {

/// Mean time between failures of a node whose parts must all work [s].
///
/// All other parts (memory stacks, cables, switch ports) enter as one failure rate. Ranges: accelerators >=
/// 1; counts >= 0; times > 0.
/// @cite barlowproschan1975, chapter 2 (series systems); daly2006
struct NodeMtbf {
  static constexpr LawInfo info{
      "NodeMtbf",
      "mtbf = 1 / (accelerators / accelerator_mtbf + nics / nic_mtbf + psus / psu_mtbf + other_rate)",
      "barlowproschan1975", "chapter 2", "independent exponential failures; any part stops the node"};
  template <class T> struct Inputs {
    T accelerators;
    Time<T> accelerator_mtbf;
    T nics;
    Time<T> nic_mtbf;
    T psus;
    Time<T> psu_mtbf;
    Frequency<T> other_rate;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::accelerators, key::accelerators),
          field(&Inputs::accelerator_mtbf, "accelerator_mtbf", "h", "mean time to failure of an accelerator")
              .positive(),
          field(&Inputs::nics, "nics", "", "network adapters").non_negative().counted(),
          field(&Inputs::nic_mtbf, "nic_mtbf", "h", "mean time to failure of an adapter").positive(),
          field(&Inputs::psus, "psus", "", "power supplies").non_negative().counted(),
          field(&Inputs::psu_mtbf, "psu_mtbf", "h", "mean time to failure of a power supply").positive(),
          field(&Inputs::other_rate, "other_rate", "Hz", "failures per time of all other parts")
              .non_negative());
    }
  };
  template <class T> struct Result {
    Time<T> mtbf;
    static constexpr auto fields() {
      return rows(field(&Result::mtbf, "mtbf", "h", "mean time between failures of the node"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto rate =
        in.accelerators / in.accelerator_mtbf + in.nics / in.nic_mtbf + in.psus / in.psu_mtbf + in.other_rate;
    return {.mtbf = 1.0 / rate};
  }
};

/// Interval between checkpoints that loses least, to higher order [s].
///
/// The formula holds for checkpoint_time < 2 mtbf. Beyond that interval is mtbf. It tends to YoungInterval
/// for short checkpoints. Example: 60 s and 50 h: 76.8 min, where Young's is 77.5 min. Ranges:
/// checkpoint_time >= 0; mtbf > 0.
/// @cite daly2006, eq. (37)
struct DalyInterval {
  static constexpr LawInfo info{
      "DalyInterval", "interval = 2 mtbf r (1 - r (2/3 - r/9)), r = sqrt(checkpoint_time / (2 mtbf))",
      "daly2006", "eq. (37)", "exponential failures"};
  template <class T> using Inputs = YoungInterval::Inputs<T>;
  template <class T> using Result = YoungInterval::Result<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T share = in.checkpoint_time / (2.0 * in.mtbf);
    const T r = sqrt(min(share, T(1.0)));
    const auto good = 2.0 * in.mtbf * (r * (1.0 - r * (2.0 / 3.0 - r / 9.0)));
    return {.interval = select(share < 1.0, good, in.mtbf)};
  }
};

/// Useful share of the time, to first order [share].
///
/// lost_share is 1/2 where a failure strikes anywhere in an interval, and 0 leaves the lost work out. Ranges:
/// interval, mtbf > 0; times >= 0; lost_share in [0, 1].
/// @cite young1974; daly2006, eq. (20)
struct FirstOrderGoodput {
  static constexpr LawInfo info{
      "FirstOrderGoodput",
      "goodput = max(0, 1 - checkpoint_time / interval - lost_share interval / mtbf - restart_time / mtbf)",
      "young1974", "first order", "losses far below one; failures do not strike restarts"};
  template <class T> struct Inputs {
    Time<T> interval, checkpoint_time, restart_time, mtbf;
    T lost_share{0.5};
    static constexpr auto fields() {
      return rows(field(&Inputs::interval, "interval", "s", "work between two checkpoints").positive(),
                  field(&Inputs::checkpoint_time, "checkpoint_time", "s", "time to write one checkpoint")
                      .non_negative(),
                  field(&Inputs::restart_time, "restart_time", "s", "time from a failure to useful work")
                      .non_negative(),
                  field(&Inputs::mtbf, "mtbf", "h", "mean time between failures of the whole").positive(),
                  field(&Inputs::lost_share, "lost_share", "", "share of an interval that a failure destroys")
                      .within(0, 1)
                      .defaulted("half an interval on average"));
    }
  };
  template <class T> struct Result {
    T goodput;
    static constexpr auto fields() {
      return rows(field(&Result::goodput, "goodput", "", "useful share of the elapsed time"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T loss = in.checkpoint_time / in.interval + in.lost_share * (in.interval / in.mtbf) +
                   in.restart_time / in.mtbf;
    return {.goodput = max(T(1.0 - loss), T(0.0))};
  }
};

/// Nodes that are in repair on average, and the probability that the spares are enough [count, probability].
///
/// in_repair is m. By Palm's theorem the number in repair is Poisson for a large fleet. Ranges: spares in
/// [0, 4096], whole; in_repair is capped at 700. repair_time >= 0.
/// @cite barlowproschan1975, chapter 4 (spares and Palm's theorem)
struct SpareCoverage {
  static constexpr LawInfo info{
      "SpareCoverage",
      "coverage = sum over k <= spares of exp(-m) m^k / k!, m = in_repair = nodes repair_time / node_mtbf",
      "barlowproschan1975", "chapter 4",
      "independent failures of a large fleet; any spare replaces any node"};
  template <class T> struct Inputs {
    T nodes;
    Time<T> node_mtbf, repair_time;
    T spares;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::nodes, "nodes", "", "nodes in use").at_least(1).counted(),
          field(&Inputs::node_mtbf, "node_mtbf", "h", "mean time between failures of one node").positive(),
          field(&Inputs::repair_time, "repair_time", "h", "time until a failed node is back").non_negative(),
          field(&Inputs::spares, "spares", "", "nodes that stand by").within(0, 4096).counted());
    }
  };
  template <class T> struct Result {
    T in_repair, coverage;
    static constexpr auto fields() {
      return rows(field(&Result::in_repair, "in_repair", "", "nodes in repair on average"),
                  field(&Result::coverage, "coverage", "", "probability that a spare is ready"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T down = named("in_repair", in.nodes * (in.repair_time / in.node_mtbf));
    const T mean = min(down, T(700.0));
    using Pair = std::array<T, 2>;  // the term of k, and the sum up to it
    const auto more = [&](const Pair& s, const T& k) {
      const T term = s[0] * mean / (k + 1.0);
      return Pair{term, T(s[1] + term)};
    };
    const T none = exp(-mean);
    return {.in_repair = down, .coverage = min(repeat<4096>(in.spares, Pair{none, none}, more)[1], T(1.0))};
  }
};

/// Time that a checkpoint takes, and the share of training time that it costs [s, share].
///
/// stall = snapshot + (1 - asynchronous) write_time, overhead = stall / interval. An asynchronous
/// checkpoint stops training for the copy into host memory alone. Ranges: size >= 0; bandwidths, interval >
/// 0; writers >= 1; asynchronous in [0, 1].
/// @cite eisenman2022checknrun, section 4
struct CheckpointCost {
  static constexpr LawInfo info{"CheckpointCost",
                                "write_time = size / min(writers writer_bandwidth, shared_limit); stall = "
                                "snapshot + (1 - asynchronous) write_time; overhead = stall / interval",
                                "eisenman2022checknrun", "section 4", "equal shards, all writers at once"};
  template <class T> struct Inputs {
    Data<T> size;
    T writers;
    Bandwidth<T> writer_bandwidth, shared_limit;
    Time<T> snapshot, interval;
    T asynchronous;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::size, "size", "GB", "bytes of one checkpoint").non_negative(),
          field(&Inputs::writers, "writers", "", "writers at once").at_least(1).counted(),
          field(&Inputs::writer_bandwidth, "writer_bandwidth", "GB/s", "rate of one writer").positive(),
          field(&Inputs::shared_limit, "shared_limit", "GB/s", "rate of the file system").positive(),
          field(&Inputs::snapshot, "snapshot", "s", "time to copy the state into host memory").non_negative(),
          field(&Inputs::interval, "interval", "s", "time between two checkpoints").positive(),
          field(&Inputs::asynchronous, "asynchronous", "",
                "1 where training goes on while the checkpoint is written")
              .within(0, 1));
    }
  };
  template <class T> struct Result {
    Time<T> write_time, stall;
    T overhead;
    static constexpr auto fields() {
      return rows(field(&Result::write_time, "write_time", "s", "time to write one checkpoint"),
                  field(&Result::stall, "stall", "s", "time for which training stands still"),
                  field(&Result::overhead, "overhead", "", "share of the training time"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto write = named("write_time", in.size / min(in.writer_bandwidth * in.writers, in.shared_limit));
    const auto stall = in.snapshot + write * (1.0 - in.asynchronous);
    return {.write_time = write, .stall = stall, .overhead = stall / in.interval};
  }
};

}  // namespace mlsysim
