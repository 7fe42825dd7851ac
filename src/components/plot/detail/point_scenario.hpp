#pragma once
/// The scenario of a point of a space.

#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/explore/space/space.hpp>

namespace mlsysim::detail {

/// The scenario with the machine and the model of a point.
inline Scenario scenario_at(const Scenario& scenario, const Space& space, std::uint64_t index) {
  Scenario out = scenario;
  const auto rows = space.rows_at(index);
  for (std::size_t a = 0; a < space.structural_axes(); ++a) {
    const auto& axis = space.axes()[a];
    for (std::size_t k = 0; k < axis.names.size(); ++k) {
      const auto value = axis.value(rows[a], k);
      const auto* object = std::get_if<ObjectRef>(&value.value);
      if (object == nullptr) continue;
      if (object->type == ObjectType<HardwareNode>::name)
        out.hardware = static_cast<const HardwareNode*>(object->object);
      if (object->type == ObjectType<Fleet>::name) out.fleet = static_cast<const Fleet*>(object->object);
      if (object->type == ObjectType<Workload>::name)
        out.workload = static_cast<const Workload*>(object->object);
    }
  }
  return out;
}

}  // namespace mlsysim::detail
