#pragma once
/// Whether a row is measured on a device, or with an engine.

#include <mlsysim/specs/system.hpp>
#include <mlsysim/validation/measurand.hpp>

#include <algorithm>

namespace mlsysim::detail {

/// Whether an input of the row is this device, alone or in a node.
inline bool concerns(const HardwareNode& device, const ObjectRef& input) {
  const HardwareNode* found = nullptr;
  if (input.type == ObjectType<HardwareNode>::name) found = static_cast<const HardwareNode*>(input.object);
  if (input.type == ObjectType<Node>::name) found = static_cast<const Node*>(input.object)->accelerator;
  return found != nullptr && found->name == device.name;
}
/// Whether an input of the row is this engine.
inline bool concerns(const ServingEngine& engine, const ObjectRef& input) {
  return input.type == ObjectType<ServingEngine>::name &&
         static_cast<const ServingEngine*>(input.object)->name == engine.name;
}

template <class S> bool is_measured_on(const S& subject, const Measurand& measurand, const void* inputs) {
  return std::ranges::any_of(measurand.inputs(), [&](const FieldInfo& f) {
    const Value v = f.read(inputs);
    const auto* o = std::get_if<ObjectRef>(&v);
    return o != nullptr && o->object != nullptr && concerns(subject, *o);
  });
}

}  // namespace mlsysim::detail
