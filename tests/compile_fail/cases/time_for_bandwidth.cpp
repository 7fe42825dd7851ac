// expect: fail
// expect-match: could not convert .*dim::time.* to .*dim::bandwidth
// mistake: Returning a time where a bandwidth is due
// fix: Divide the data by the time: `return weights / step;`.
#include <mlsysim/units/unit.hpp>
using namespace mlsysim;

Bandwidth<> needed(Data<> weights, Bandwidth<> hbm) {
  const Time<> step = weights / hbm;
  return step;
}
