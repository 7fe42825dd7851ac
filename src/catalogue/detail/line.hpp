#pragma once
// Names of the waiting line for files that still look for it here.

#include <mlsysim/price/line.hpp>

namespace mlsysim::detail {
using mlsysim::exceeding;
using mlsysim::kFull;
using mlsysim::Line;
using mlsysim::line_of;
using mlsysim::response_quantile;
using mlsysim::wait_quantile;
}  // namespace mlsysim::detail
