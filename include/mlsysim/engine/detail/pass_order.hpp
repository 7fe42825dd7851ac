#pragma once
/// Lists the operators of one pass in execution order, for timelines.
///
/// Example: ITL of Llama3_70B on 8x H100, 16 requests in one burst, 2,048 tokens in, 512 out: 15 operators.
/// The first are embedding, embedding_join and attention_norm. The last is logits.

#include <mlsysim/engine/explain.hpp>

#include <string_view>
#include <vector>

namespace mlsysim {

/// Returns the rows of `operator_table` in the order of the lowering. Training leaves out the optimizer
/// update.
/// @throws LookupError naming what has a table, InputError for a question that lists no operators
[[nodiscard]] std::vector<OperatorRow> operators_in_order(const Scenario& scenario, std::string_view metric);

}  // namespace mlsysim
