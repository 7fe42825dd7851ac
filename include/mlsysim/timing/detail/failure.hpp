#pragma once
/// Failures of a fleet at either fidelity: checkpoint interval, useful share of a job's time, rates of parts.
///
///                          textbook                        operator
///     interval             Young: sqrt(2 C M)              Daly, higher order
///     useful time          1 - C / interval - R / M        complete mean of lost time
///     rates of parts       round numbers                   observed in one large run
///
/// C: time to write a checkpoint [s]. R: time from a failure to useful work [s]. M: mean time between
/// failures of the fleet [s]. Failures are independent and exponential.
/// @cite young1974; daly2006, eq. (37)
/// Example: C 60 s, R 300 s, M 10 h. Textbook: every 2,078 s, 96.3 % useful. Operator: 2,039 s, 93.6 %.

#include <mlsysim/physics/reliability.hpp>
#include <mlsysim/physics/resilience.hpp>
#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/timing/figures.hpp>

#include <optional>

namespace mlsysim {

/// Mean times between failures that a request names.
struct PartMtbf {
  std::optional<Time<>> accelerator, nic, psu;
};

/// Parts of a node, each of which stops it.
struct NodeParts {
  NodeMtbf::Inputs<double> rates;
  Frequency<> cables;  ///< failure rate of switches and cables, which `rates` counts among the other parts
};

[[nodiscard]] NodeParts node_parts(Fidelity fidelity, const Node& node, const PartMtbf& given,
                                   const Figures& figures);

/// Work between two checkpoints that loses least.
template <class T>
[[nodiscard]] Time<T> checkpoint_interval(Fidelity fidelity, const Time<T>& checkpoint, const Time<T>& mtbf) {
  return fidelity == Fidelity::textbook ? apply<YoungInterval, T>({checkpoint, mtbf}).interval
                                        : apply<DalyInterval, T>({checkpoint, mtbf}).interval;
}

/// The interval where the request gives none: the best one, and at least one second of work.
template <class T>
[[nodiscard]] Time<T> usual_interval(Fidelity fidelity, const Time<T>& checkpoint, const Time<T>& mtbf) {
  return max(checkpoint_interval(fidelity, checkpoint, mtbf), Time<T>::from_base(T{1.0}));
}

/// Times from which the cost of failures and checkpoints of a job is computed.
template <class T = double> struct JobTimes {
  Time<T> interval;    ///< work between two checkpoints
  Time<T> checkpoint;  ///< to write one
  Time<T> restart;     ///< from a failure to useful work
  Time<T> mtbf;        ///< of the whole fleet
};

/// Share of a job's time that is useful, and share that failures lose.
template <class T = double> struct UsefulTime { T share{0.0}, lost_work{0.0}; };

/// The textbook does not count work between a checkpoint and a failure as lost.
template <class T> [[nodiscard]] UsefulTime<T> useful_time(Fidelity fidelity, const JobTimes<T>& j) {
  if (fidelity == Fidelity::textbook)
    return {apply<FirstOrderGoodput, T>({j.interval, j.checkpoint, j.restart, j.mtbf, T{0.0}}).goodput,
            T{0.0}};
  return {apply<CheckpointGoodput, T>({j.interval, j.checkpoint, j.restart, j.mtbf}).goodput,
          min(T{1.0}, T(0.5 * (j.interval / j.mtbf)))};
}

}  // namespace mlsysim
