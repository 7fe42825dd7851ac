// A build without pagmo2.

#include "explore/search/search.hpp"

namespace mlsysim::detail {
const HeuristicSearch* evolutionary_search() { return nullptr; }
}  // namespace mlsysim::detail
