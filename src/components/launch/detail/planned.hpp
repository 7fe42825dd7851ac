#pragma once
/// A plan as an engine is started for it: requests that it admits, and weights that it finds.

#include <mlsysim/engine/scenario.hpp>

namespace mlsysim::detail {

/// The scenario with the requests that its rate of arrivals keeps in flight, chance included, as its batch.
/// Other scenarios stay as they are.
[[nodiscard]] Scenario with_requests(const Scenario& scenario);

/// Whether the published files of a model hold weights in fewer than 16 bits.
[[nodiscard]] bool holds_narrow(const Workload& model);
/// Whether the published files of a served model hold its weights as the scenario predicts them.
[[nodiscard]] bool repository_holds(const Scenario& scenario);

}  // namespace mlsysim::detail
