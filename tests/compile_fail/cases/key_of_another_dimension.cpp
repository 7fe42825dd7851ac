// expect: fail
// expect-match: this member has another type or dimension than the vocabulary key
// mistake: a member whose dimension is not that of the key it is bound to
// fix: give the member the key's type, or another name

#include <mlsysim/reflect/field.hpp>
using namespace mlsysim;

struct Inputs {
  Data<> bandwidth;
  MLSYSIM_FIELDS(Inputs, bandwidth)
};

constexpr auto table = Inputs::fields();
