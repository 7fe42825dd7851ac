// expect: fail
// expect-match: the Result of an Optimizer needs a member 'SearchSummary search'
// mistake: an optimizer whose result does not say what was tried
// fix: give Result a member SearchSummary search, list it in its table, and keep the summary of the search there

#include <mlsysim/resolver_api/contract.hpp>
using namespace mlsysim;

struct Cheapest : Optimizer<Cheapest> {
  struct Inputs {
    Time<> latency;
    MLSYSIM_FIELDS(Inputs, latency)
  };
  struct Result {
    Time<> latency;
    MLSYSIM_FIELDS(Result, latency)
  };
  std::optional<Result> solve(const Inputs& in, Search&) const { return Result{in.latency}; }
};

Cheapest optimizer;
