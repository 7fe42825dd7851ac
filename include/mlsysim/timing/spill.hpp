#pragma once
/// Time that a pass loses when the model does not fit on its device, over any scalar.

#include <mlsysim/lowering/memory_model.hpp>
#include <mlsysim/specs/views.hpp>

namespace mlsysim {

/// Time that a pass loses to bytes that come over the host link.
template <class T = double> struct SpillTime {
  Time<T> memory;  ///< more memory traffic
  Time<T> waited;  ///< what the pass takes longer
};

/// Time for which a pass waits for what the device has no room for [s]. Of the weights and the cache that do
/// not fit a pass fetches the share that it reads, over the host link and ahead of the kernels that need it,
/// so that only what takes longer than the kernels is waited for. Where the host's memory is the device's own
/// nothing is.
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
