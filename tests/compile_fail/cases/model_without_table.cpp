// expect: fail
// expect-match: Inputs needs its field table
// mistake: a resolver whose Inputs have no field table
// fix: end the struct with MLSYSIM_FIELDS(Inputs, every, member)

#include <mlsysim/resolver_api/contract.hpp>
using namespace mlsysim;

struct Doubling : Model<Doubling> {
  struct Inputs {
    Time<> latency;
  };
  struct Result {
    Time<> latency;
    MLSYSIM_FIELDS(Result, latency)
  };
  Result solve(const Inputs& in) const { return {2.0 * in.latency}; }
};

Doubling model;
