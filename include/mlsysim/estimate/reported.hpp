#pragma once
/// Selects the fields of an estimate that a resolver reports, without those that only a scorecard shows.
///
/// Example: `Reported<ServingEstimate<>>::fields()` has `ttft` and `itl`, and neither `plan_fits` nor `tco`.

#include <mlsysim/reflect/field.hpp>

namespace mlsysim {

/// A result that inherits an estimate names this as its base.
template <class Estimate> struct Reported {
  static constexpr auto fields() { return Estimate::reported_fields(); }
};

}  // namespace mlsysim
