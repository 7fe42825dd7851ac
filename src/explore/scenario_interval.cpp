#include <mlsysim/scalars/interval.hpp>

#include "detail/scenario_core.hpp"

namespace mlsysim::detail {

void scenario_interval(const void* self, const Interval* in, Interval* out) { scenario_call<Interval>(self, in, out); }

}  // namespace mlsysim::detail
