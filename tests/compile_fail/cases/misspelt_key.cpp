// expect: fail
// expect-match: 'target_latncy' is not a member of 'mlsysim::key'; did you mean 'target_latency'
// mistake: a member bound to a key that does not exist
// fix: name the member like the key of the vocabulary, or give it a row of its own with field(&S::x, ...)

#include <mlsysim/reflect/field.hpp>
using namespace mlsysim;

struct Inputs {
  Time<> target_latncy;
  MLSYSIM_FIELDS(Inputs, target_latncy)
};
