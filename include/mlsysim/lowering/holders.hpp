#pragma once
/// Counts the ranks that hold the same weights, and those over which ZeRO divides them.
///
///     ranks  = dp cp sequence_ranks          of dense weights
///     ranks  = dp cp                         of routed experts
///     shards = min(plan.shards, ranks), or ranks where plan.shards is 0
///
/// sequence_ranks: ranks that divide a replica's sequences, ep unless experts are folded.
/// Devices are numbered tensor-parallel first, then context, expert, data and pipeline.
///
/// Example: tp 8, dp 8, cp 2, ep 4: 64 ranks hold the same dense weights, 16 the same experts.

#include <mlsysim/specs/views.hpp>
#include <mlsysim/units/quantity.hpp>

namespace mlsysim {

/// Context-parallel ranks are data-parallel for all weights, expert-parallel ranks for all but the routed
/// experts.
template <class T> struct Holders {
  T ranks;   ///< ranks with the same weights
  T shards;  ///< of them, ranks over which states are divided
  T stride;  ///< devices between neighbors

  /// @param routed for the routed experts, else for all other weights
  Holders(const Plan<T>& p, bool routed)
      : ranks(p.dp * p.cp * (routed ? T{1.0} : p.sequence_ranks())),
        shards(select(p.shards > T{0.0}, min(p.shards, ranks), ranks)),
        stride(routed ? p.expert_width() * p.ep : p.tp) {}
};

}  // namespace mlsysim
