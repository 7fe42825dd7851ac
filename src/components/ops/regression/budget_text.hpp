#pragma once
/// Texts of budgets, and patterns of cells.

#include <mlsysim/ops/regression/matrix.hpp>

#include <regex>
#include <string>
#include <string_view>

namespace mlsysim::detail {

/// Reads `CONSTRAINT [for LABEL=~"PATTERN"[, ...]]`. The constraint itself is read later, where its names are
/// known. @throws InputError
[[nodiscard]] CellBudget read_budget(std::string_view text, const Location& where);
/// A regular expression of whole names (ECMAScript). @throws InputError
[[nodiscard]] std::regex cell_pattern(const std::string& text, const Location& where);
/// Whether a budget is asked of a cell.
[[nodiscard]] bool applies(const CellBudget& budget, const MatrixCell& cell);

}  // namespace mlsysim::detail
