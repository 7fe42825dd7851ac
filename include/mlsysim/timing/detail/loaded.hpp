#pragma once
/// Time at full power that draws as much energy above idle as the kernels of a pass.
///
///     loaded = work_draw work / peak + traffic_draw traffic / bandwidth + resident_draw resident
///
/// resident: time in kernels [s]. work_draw, traffic_draw, resident_draw: power of full arithmetic, of full
/// bandwidth and of a resident kernel, relative to the range from idle to full power.
/// A device that waits draws idle power.
/// Callers limit the result to the time of the pass.
/// @cite measured-h100
///
/// Example: 100 GFLOP and 1.675 GB in 1 ms on an H100, bf16: 2 x 0.101 + 0.18 x 0.5 + 0.54 x 1 = 0.83 ms.

#include <mlsysim/physics/operator_load.hpp>
#include <mlsysim/specs/views.hpp>
#include <mlsysim/timing/breakdown.hpp>

namespace mlsysim::detail {

/// @param resident time in kernels [s]
template <class T>
[[nodiscard]] Time<T> loaded(const Work<T>& work, const Data<T>& traffic, const Time<T>& resident,
                             const Device<T>& d) {
  return apply<OperatorLoad, T>({.work = work,
                                 .traffic = traffic,
                                 .peak = d.compute.dense,
                                 .bandwidth = d.memory.bandwidth,
                                 .work_draw = d.draw.work,
                                 .traffic_draw = d.draw.traffic,
                                 .resident = resident,
                                 .resident_draw = d.draw.resident})
      .loaded;
}
template <class T> [[nodiscard]] Time<T> loaded(const PassBreakdown<T>& pass, const Device<T>& d) {
  return loaded(pass.work, pass.traffic, pass.kernels(), d);
}

}  // namespace mlsysim::detail
