#pragma once
/// Tables inside HTML.

#include <mlsysim/report/table.hpp>

#include <string>

namespace mlsysim::detail {

/// The text of a cell for a reader: numbers with a fitting prefix; nothing where the cell is empty.
[[nodiscard]] std::string cell_words(const Table::Cell& cell);
/// A table without its title; every text is escaped, numbers have the class "n".
[[nodiscard]] std::string html_table(const Table& table);

}  // namespace mlsysim::detail
