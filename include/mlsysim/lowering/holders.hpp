#pragma once
/// Replication and sharding of weights over the ranks of a plan.

#include <mlsysim/specs/views.hpp>
#include <mlsysim/units/quantity.hpp>

namespace mlsysim {

/// The ranks that hold the same weights, and how many of them share one copy of what ZeRO divides.
///
/// Context-parallel ranks are data-parallel for all weights, expert-parallel ranks for all but the routed
/// experts. Devices are numbered tensor-parallel first, then context, expert, data and pipeline.
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
