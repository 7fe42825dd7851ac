#pragma once
/// HTML form of tables, for reports and pages.
///
/// Every text is escaped once. Numbers have the class "n" and a unit that suits their size.
/// Example: a cell of 3.35e12 B/s becomes `<td class="n">3.35 TB/s</td>`.

#include <mlsysim/report/table.hpp>

#include <string>

namespace mlsysim::detail {

/// The text of a cell for a reader; empty for an empty cell.
[[nodiscard]] std::string cell_words(const Table::Cell& cell);
/// A table without its title.
[[nodiscard]] std::string html_table(const Table& table);

}  // namespace mlsysim::detail
