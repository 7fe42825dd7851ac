#pragma once
/// Selects the fields of an estimate that a resolver reports.

#include <mlsysim/reflect/field.hpp>

namespace mlsysim {

/// Rows of an estimate without what a scorecard adds: nothing is charged where a resolver answers. A result
/// that inherits the estimate names this as its base.
template <class Estimate> struct Reported {
  static constexpr auto fields() { return Estimate::reported_fields(); }
};

}  // namespace mlsysim
