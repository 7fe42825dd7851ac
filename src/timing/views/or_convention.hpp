#pragma once
// What stands in for a figure that nobody states.

#include <mlsysim/timing/views.hpp>

#include <optional>

namespace mlsysim {

/// The value, or the convention (noted).
template <class V>
V or_convention(const std::optional<V>& value, const V& convention, TextRef name, Notes& notes) {
  if (value) return *value;
  notes.assume(name, convention, kDefaults);
  return convention;
}

}  // namespace mlsysim
