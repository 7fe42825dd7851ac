#pragma once
/// What kernels and collectives sustain of a device's data sheet: measured, or absent.
///
/// An absent figure is replaced by the prior of zoo/defaults.yaml when a numeric view is made, and the result
/// says so. Each belongs to a device and a class of operators, never to a model or a shape.

#include <mlsysim/table/describe.hpp>
#include <mlsysim/units/quantity.hpp>

#include <optional>

namespace mlsysim {

/// Shares of the data-sheet rates that well-tuned kernels sustain.
struct SustainedShare {
  std::optional<double> matrix;         ///< products of 16 bits and wider, for ever
  std::optional<double> matrix_narrow;  ///< products of 8 bits and narrower
  std::optional<double> attention;      ///< products inside a fused attention kernel, softmax apart
  std::optional<double> flash2;  ///< rate of the second generation of fused attention over the present one
  std::optional<double> memory, link;
  std::optional<double> burst;  ///< gain of short work over the sustained matrix rate, before power limits
  std::optional<Time<>> burst_time;  ///< matrix work after which half of the gain is left

  static constexpr auto fields() {
    using E = SustainedShare;
    return rows(
        field(&E::matrix, "matrix", "", "share of the dense matrix rate, for ever").within(0.01, 1),
        field(&E::matrix_narrow, "matrix_narrow", "", "the same for formats of 8 bits and less")
            .within(0.01, 1),
        field(&E::attention, "attention", "", "share of the matrix rate in fused attention, softmax apart")
            .within(0.01, 1),
        field(&E::flash2, "flash2", "", "rate of fused attention of 2023 over the present one")
            .within(0.1, 1),
        field(&E::memory, "memory", "", "share of the memory bandwidth").within(0.01, 1),
        field(&E::link, "link", "", "share of the link bandwidth").within(0.01, 1),
        field(&E::burst, "burst", "", "gain of short matrix work over the sustained rate").within(0, 1),
        field(&E::burst_time, "burst_time", "ms", "matrix work after which half of the gain is left")
            .positive());
  }
};

/// Fixed times of kernels. See MatmulTime and AttentionTime.
struct KernelTimes {
  std::optional<Time<>> launch, wave, split;
  std::optional<Time<>> attention_launch, attention_block, attention_rows, attention_split;
  std::optional<Time<>> issue;  ///< host time to launch one kernel without a captured graph

  static constexpr auto fields() {
    using K = KernelTimes;
    return rows(
        field(&K::launch, "launch", "us", "start and end of one kernel, back to back").non_negative(),
        field(&K::wave, "wave", "us", "start and end of an output tile").non_negative(),
        field(&K::split, "split", "us", "adding up the parts of a product whose depth is split")
            .non_negative(),
        field(&K::attention_launch, "attention_launch", "us", "start and end of one attention call")
            .non_negative(),
        field(&K::attention_block, "attention_block", "us", "fixed time of a block of queries")
            .non_negative(),
        field(&K::attention_rows, "attention_rows", "us", "rows of a full block, in and out").non_negative(),
        field(&K::attention_split, "attention_split", "us", "adding up the parts of split keys")
            .non_negative(),
        field(&K::issue, "issue", "us", "host time to launch one kernel without a graph").non_negative());
  }
};

/// What collectives of the library take inside a node. See ProtocolRing and its neighbours.
struct CollectiveTimes {
  std::optional<Time<>> launch, hop, sync, switch_start, direct_start, direct_hop, direct_second;
  std::optional<double> low_latency_share, copy_ratio, switch_share, pair_share, direct_share;

  static constexpr auto fields() {
    using C = CollectiveTimes;
    return rows(
        field(&C::launch, "launch", "us", "start and end of one collective").non_negative(),
        field(&C::hop, "hop", "us", "one step of the low-latency protocol").non_negative(),
        field(&C::sync, "sync", "us", "start of the bulk protocol").non_negative(),
        field(&C::low_latency_share, "low_latency_share", "", "share of the link, low-latency protocol")
            .within(0.001, 1),
        field(&C::copy_ratio, "copy_ratio", "", "local copy rate over link bandwidth").positive(),
        field(&C::switch_start, "switch_start", "us", "start of a reduction in the switch").non_negative(),
        field(&C::switch_share, "switch_share", "", "share of the link, reduction in the switch; 0: none")
            .within(0, 1),
        field(&C::pair_share, "pair_share", "", "share of the link to one peer, low-latency all-to-all")
            .within(0.0001, 1),
        field(&C::direct_start, "direct_start", "us", "start of an engine's one-shot all-reduce")
            .non_negative(),
        field(&C::direct_hop, "direct_hop", "us", "each further rank of it").non_negative(),
        field(&C::direct_second, "direct_second", "us", "its second phase, where it has two").non_negative(),
        field(&C::direct_share, "direct_share", "", "share of the link that it sustains").within(0.001, 1));
  }
};

}  // namespace mlsysim
