#pragma once
/// Time that a pass waits for weights and cache that do not fit on the device and cross the host link.
///
///     waited  = max(fetched / host_link.bandwidth - kernels, 0)
///     fetched = min(missing, held) min(1, traffic / held)
///
/// held: weights and cache [B]. missing: memory needed beyond the capacity [B]. traffic: bytes of the pass
/// [B]. kernels: time of the pass without the wait [s]. Transfers run ahead of the kernels that need them, so
/// only the excess is waited for.
///
/// Example: 20 GB of 95 GB missing, all of it read, 50 GB/s, kernels of 30 ms: 400 - 30 = 370 ms.

#include <mlsysim/lowering/memory_model.hpp>
#include <mlsysim/specs/views.hpp>

namespace mlsysim {

/// Time that a pass loses to bytes that come over the host link.
template <class T = double> struct SpillTime {
  Time<T> memory;  ///< more memory traffic
  Time<T> waited;  ///< what the pass takes longer
};

/// Time for which a pass waits for bytes that the device has no room for [s].
/// @param traffic bytes that the pass reads and writes
/// @param kernels time of the pass itself
template <class T>
[[nodiscard]] Time<T> spill_time(const MemoryBreakdown<T>& m, const Data<T>& traffic, const Time<T>& kernels,
                                 const Device<T>& d) {
  const Data<T> held = m.weights + m.kv_cache, missing = max(m.total - m.capacity, Data<T>());
  const Data<T> fetched = min(missing, held) * min(T{1.0}, T(traffic / held));
  return max(fetched / d.host_link.bandwidth - kernels, Time<T>());
}

}  // namespace mlsysim
