#include "timing/operators/operator_estimator.hpp"

#include <mlsysim/scalars/detail/clones.hpp>
#include <mlsysim/timing/step.hpp>

namespace mlsysim {

// One copy for each instruction set: estimates are chains of divisions and roots. Each takes long to compile,
// so that they lie in files of their own.
MLSYSIM_KERNEL StepParts<> step_parts(const PassRequest<>& request, const Device<>& device,
                                      const Links<>& links, OpList<>& ops) {
  return step_parts<double>(request, device, links, ops);
}
MLSYSIM_KERNEL StepTime<> step_of(const StepParts<>& parts, const ModelView<>& model, const Plan<>& plan,
                                  const Device<>& device) {
  return step_of<double>(parts, model, plan, device);
}

}  // namespace mlsysim
