#pragma once
/// Tables inside HTML.

#include <mlsysim/report/table.hpp>

#include <string>

namespace mlsysim::detail {

/// What a cell shows to a reader: numbers with the prefix that suits them; nothing where it is empty.
[[nodiscard]] std::string cell_words(const Table::Cell& cell);
/// A table without its title; every text is escaped, numbers have the class "n".
[[nodiscard]] std::string html_table(const Table& table);

}  // namespace mlsysim::detail
