// expect: fail
// expect-match: (conversion|could not convert|cannot convert|no match).*Quantity
// mistake: a number without a unit where a quantity is due
// fix: multiply by the unit: 5 * unit::ms, or write 5_ms

#include <mlsysim/units/unit.hpp>
using namespace mlsysim;

Time<> latency() { return 5.0; }
