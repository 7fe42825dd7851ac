#pragma once
/// The points of a sweep, as a table.

#include <mlsysim/engine/engine.hpp>
#include <mlsysim/report/table.hpp>

#include <span>

namespace mlsysim {

/// One row per point: what was varied, whether it fits, and the main results. A skipped point gives its
/// reason.
[[nodiscard]] Table sweep_table(std::span<const SweepPoint> points);

}  // namespace mlsysim
