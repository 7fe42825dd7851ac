#pragma once
// Replaces a parameter that the input does not state by its convention, and notes it.

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
