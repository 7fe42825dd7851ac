// expect: fail
// expect-match: a Model or Solver must not search over options
// mistake: a model that loops over options
// fix: derive from Optimizer<>; a Model calculates one state

#include <mlsysim/resolver_api/contract.hpp>
using namespace mlsysim;

struct BestOf : Model<BestOf> {
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

BestOf model;
