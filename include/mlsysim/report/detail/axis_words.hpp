#pragma once
/// Labels for the values of a search axis.
///
/// Example: axis "tp_size" at "4" appends "tensor parallelism 4". The coupled axis "tp_size, pp_size" at "4 x
/// 2" appends "tensor parallelism 4" and "pipeline parallelism 2".

#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

/// Appends one text for each input of the axis: its label and its value.
void add_axis_values(std::string_view names, std::string_view values, std::vector<std::string>& to);

}  // namespace mlsysim::detail
