// expect: fail
// expect-match: only_a_Search_makes_a_SearchSummary
// mistake: an optimizer that writes its own search summary: its counts would be claims, not measurements
// fix: call search.minimize, search.maximize or search.pareto, and keep the summary that it returns

#include <mlsysim/resolver_api/contract.hpp>
using namespace mlsysim;

SearchSummary claimed() { return SearchSummary{}; }
