#pragma once
/// Text and tables inside XML and HTML.

#include <mlsysim/report/table.hpp>

#include <string>
#include <string_view>

namespace mlsysim::detail {

/// A text as a part of XML or HTML; control characters, which neither allows, are left out.
[[nodiscard]] std::string markup_escaped(std::string_view text);

/// What a cell shows to a reader: numbers with the prefix that suits them; nothing where it is empty.
[[nodiscard]] std::string cell_words(const Table::Cell& cell);
/// A table without its title; every text is escaped, numbers have the class "n".
[[nodiscard]] std::string html_table(const Table& table);

}  // namespace mlsysim::detail
