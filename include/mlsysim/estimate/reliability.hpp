#pragma once
/// Share of a job's time that failures and checkpoints leave, over any scalar.

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
