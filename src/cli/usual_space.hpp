#pragma once
// Axes and objectives of a search that states none.

#include "commands.hpp"

namespace mlsysim::cli {

/// Fills in the axes of `optimize` and `pareto` where there are none, and their objectives where there are
/// none.
///
/// A served model is searched over degrees of parallelism and requests in flight, for the throughput of a
/// device; a training step over degrees, model chunks of a stage, micro-batches, ZeRO stages and
/// recomputation, for its time; a single pass over its batch, for throughput. `pareto` adds the time that a
/// larger batch costs. What the request fixes is not varied.
/// @return what was filled in, in a line; empty where nothing was
[[nodiscard]] std::string fill_in_search(const Scenario& scenario, const ScenarioRequest& request,
                                         SearchRequest& asked);

}  // namespace mlsysim::cli
