#pragma once
/// Parts that all forms of a report share.

#include <mlsysim/ops/regression/report.hpp>
#include <mlsysim/report/table.hpp>

namespace mlsysim::detail {

[[nodiscard]] std::string in_words(const HeldBudget& broken);
/// One line with all counts.
[[nodiscard]] std::string summary_of(const CiReport& report);
[[nodiscard]] Table differences_table(const CiReport& report);
[[nodiscard]] Table budgets_table(const CiReport& report);
/// Cells that are infeasible or failed.
[[nodiscard]] Table troubles_table(const CiReport& report);
/// Breaks by place, of the cells that rest on records of a compiler.
[[nodiscard]] Table breaks_table(const CiReport& report);
[[nodiscard]] Table numbers_table(const CiReport& report);

}  // namespace mlsysim::detail
