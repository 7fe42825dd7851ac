#pragma once
/// Text form of a table within a number of columns of a terminal.
///
/// Long texts are broken into lines, the widest column first. Numbers are never broken, so a table of many
/// numbers may stay wider.
/// Example: at 14 columns the text cell "alpha beta gamma" beside the number 7 becomes "alpha beta" and
/// "gamma".

#include <mlsysim/report/table.hpp>

namespace mlsysim {

/// The text form of a table, at most `columns` wide where its numbers permit.
[[nodiscard]] std::string render_fitted(const Table& table, const RenderOptions& options,
                                        std::size_t columns);

}  // namespace mlsysim
