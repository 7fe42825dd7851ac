#pragma once
/// The operators of a pass in the order in which they run, for timelines.

#include <mlsysim/engine/explain.hpp>

#include <string_view>
#include <vector>

namespace mlsysim {

/// The rows of `operator_table`, in the order of the lowering rather than by time; of training without the
/// update.
/// @throws LookupError naming what has a table, InputError for a question that lists no operators
[[nodiscard]] std::vector<OperatorRow> operators_in_order(const Scenario& scenario, std::string_view metric);

}  // namespace mlsysim
