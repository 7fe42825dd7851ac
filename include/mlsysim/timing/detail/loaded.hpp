#pragma once
/// Time at full power that draws what the kernels of a pass draw; a device that waits draws idle power.

#include <mlsysim/physics/operator_load.hpp>
#include <mlsysim/specs/views.hpp>
#include <mlsysim/timing/pass_cost.hpp>

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
