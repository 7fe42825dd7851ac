#pragma once
// The ladder of links without what collectives are made of.

#include <mlsysim/timing/views.hpp>

namespace mlsysim {

/// `links_view` for formulas that read bandwidths and latencies alone: launches, hops and shares of
/// collectives stay at their defaults, and are not noted.
[[nodiscard]] Links<> bare_links_view(const Fleet& fleet, const Conventions& conventions, Notes& notes);

}  // namespace mlsysim
