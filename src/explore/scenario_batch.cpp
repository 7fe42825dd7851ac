#include <mlsysim/tools/kernel.hpp>

#include "detail/scenario_core.hpp"

namespace mlsysim::detail {

// Without the clones of MLSYSIM_KERNEL: flattening the whole lowering into one function for three instruction sets takes
// more than six minutes of compilation, so lanes are those of the baseline instruction set here.
void scenario_batch(const void* self, const double* const* in, double* const* out, std::size_t points) {
  OpList<Batch<>> ops;
  for (std::size_t at = 0; at < points; at += kLanes)
    scenario_point<Batch<>>(*static_cast<const ScenarioState*>(self), ops, LoadLanes{in, at}, StoreLanes{out, at});
}

}  // namespace mlsysim::detail
