#include "detail/scenario_core.hpp"

namespace mlsysim::detail {

void scenario_double(const void* self, const double* in, double* out) { scenario_call<double>(self, in, out); }

}  // namespace mlsysim::detail
