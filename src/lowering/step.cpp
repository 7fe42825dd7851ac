#include <mlsysim/lowering/step.hpp>
#include <mlsysim/scalars/clones.hpp>

namespace mlsysim {

MLSYSIM_KERNEL PassTime<> pass_time(const ModelView<>& model, const Plan<>& plan, const Device<>& device,
                                    const Links<>& links, OpList<>& ops) {
  return pass_time<double>(model, plan, device, links, ops);
}

MLSYSIM_KERNEL StepTime<> step_time(const ModelView<>& model, const Plan<>& plan, const Device<>& device,
                                    const Links<>& links, OpList<>& ops) {
  return step_time<double>(model, plan, device, links, ops);
}

}  // namespace mlsysim
