#pragma once
/// Inputs and results for failures of a training job: fleet MTBF, checkpoint interval and goodput.
///
///     fleet_mtbf = node_mtbf / nodes          nodes = ceil(accelerators / devices_per_node)
///
/// The interval and the goodput follow at either fidelity (timing/detail/failure.hpp).
/// Any node that fails stops the job. Failures are independent and exponential.
/// @cite daly2006
///
/// Example: 100 nodes of 1,000 h: fleet MTBF 10 h. Checkpoints of 60 s, recovery 300 s, operator fidelity:
/// interval 2,039 s, goodput 93.6 %.

#include <mlsysim/reflect/field.hpp>
#include <mlsysim/reflect/vocabulary.hpp>

namespace mlsysim {

/// How often a node fails, and what that costs a job that needs every one of them.
template <class T = double> struct FailureProblem {
  Time<T> node_mtbf = Time<T>::from_base(T{1.0});
  T devices_per_node{1.0};
  Time<T> checkpoint_time, recovery_time;

  static constexpr auto fields() {
    using F = FailureProblem;
    return rows(
        field(&F::node_mtbf, "node_mtbf", "h", "mean time between failures of one node").positive(),
        field(&F::devices_per_node, "devices_per_node", "", "devices that stop with a node").at_least(1),
        field(&F::checkpoint_time, "checkpoint_time", "s", "time to write one checkpoint").non_negative(),
        field(&F::recovery_time, "recovery_time", "s", "from a failure to useful work").non_negative());
  }
};

template <class T = double> struct ReliabilityEstimate {
  Time<T> fleet_mtbf, checkpoint_interval;
  T goodput_ratio{0.0};

  static constexpr auto fields() {
    using R = ReliabilityEstimate;
    return rows(field(&R::fleet_mtbf, key::fleet_mtbf),
                field(&R::checkpoint_interval, key::checkpoint_interval),
                field(&R::goodput_ratio, "goodput_ratio", "",
                      "share of the time that failures and checkpoints leave"));
  }
};

}  // namespace mlsysim
