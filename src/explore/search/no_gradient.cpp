// A build without NLopt.

#include "explore/search/search.hpp"

namespace mlsysim::detail {
const HeuristicSearch* gradient_search() { return nullptr; }
}  // namespace mlsysim::detail
