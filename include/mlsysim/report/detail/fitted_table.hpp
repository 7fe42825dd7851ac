#pragma once
/// Tables for a terminal of a given width.

#include <mlsysim/report/table.hpp>

namespace mlsysim {

/// The text form of a table that keeps to `columns`: long texts are broken into lines, the widest first;
/// numbers never are, so that a table of many numbers may stay wider.
[[nodiscard]] std::string render_fitted(const Table& table, const RenderOptions& options,
                                        std::size_t columns);

}  // namespace mlsysim
