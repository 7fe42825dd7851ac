#include <mlsysim/lowering/step.hpp>
#include <mlsysim/scalars/clones.hpp>

namespace mlsysim {

MLSYSIM_KERNEL PassParts<> pass_parts(const ModelView<>& model, const Plan<>& plan, const Device<>& device,
                                      const Links<>& links, OpList<>& ops) {
  return pass_parts<double>(model, plan, device, links, ops);
}

MLSYSIM_KERNEL StepParts<> step_parts(const ModelView<>& model, const Plan<>& plan, const Device<>& device,
                                      const Links<>& links, OpList<>& ops) {
  return step_parts<double>(model, plan, device, links, ops);
}

MLSYSIM_KERNEL StepTime<> step_of(const StepParts<>& parts, const ModelView<>& model, const Plan<>& plan, const Device<>& device) {
  return step_of<double>(parts, model, plan, device);
}

}  // namespace mlsysim
