#include <mlsysim/scalars/dual.hpp>

#include "detail/scenario_core.hpp"

namespace mlsysim::detail {

void scenario_dual(const void* self, const Dual<8>* in, Dual<8>* out) { scenario_call<Dual<8>>(self, in, out); }

}  // namespace mlsysim::detail
