#pragma once
/// Values of an axis as readers know them.

#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

/// Appends the value of an axis behind its label: "tensor parallelism 4". An axis of coupled inputs,
/// "tp_size, pp_size" at "4 x 2", appends one text for each of them.
void add_axis_values(std::string_view names, std::string_view values, std::vector<std::string>& to);

}  // namespace mlsysim::detail
