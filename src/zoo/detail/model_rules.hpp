#pragma once
/// Checks of the figures of one model against each other.

#include "problems.hpp"

#include <mlsysim/specs/provenance.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim::detail {

/// Reports figures that contradict each other, at the place of the first of them.
void check_model(const Workload& workload, const Entry& entry, const SourceText& source, Problems& problems);

}  // namespace mlsysim::detail
