// expect: fail
// expect-match: (could not convert|cannot convert|no known conversion|narrowing).*(bandwidth|time)
// mistake: a solver that returns the wrong dimension: time over data instead of data over time
// fix: read the two dimensions in the message; the expression has the one, the result member the other

#include <mlsysim/resolver_api/contract.hpp>
using namespace mlsysim;

struct RequiredBandwidth : Solver<RequiredBandwidth> {
  struct Inputs {
    Data<> weights;
    Time<> target_latency;
    MLSYSIM_FIELDS(Inputs, weights, target_latency)
  };
  struct Result {
    Bandwidth<> bandwidth;
    MLSYSIM_FIELDS(Result, bandwidth)
  };
  Result solve(const Inputs& in) const { return {in.target_latency / in.weights}; }
};

RequiredBandwidth solver;
