#include "timing/operators/operator_pricer.hpp"

#include <mlsysim/scalars/detail/clones.hpp>

namespace mlsysim {

// One copy for each instruction set: pricing is chains of divisions and roots.
MLSYSIM_KERNEL PassEstimate<> pass_estimate(const PassRequest<>& request, const Device<>& device,
                                            const Links<>& links, OpList<>& ops) {
  return pass_estimate<double>(request, device, links, ops);
}
MLSYSIM_KERNEL StepParts<> step_parts(const PassRequest<>& request, const Device<>& device,
                                      const Links<>& links, OpList<>& ops) {
  return step_parts<double>(request, device, links, ops);
}
MLSYSIM_KERNEL StepTime<> step_of(const StepParts<>& parts, const ModelView<>& model, const Plan<>& plan,
                                  const Device<>& device) {
  return step_of<double>(parts, model, plan, device);
}

MLSYSIM_KERNEL PlaceTotals<> forward_totals(const Structure& structure, const StackView<>& stack,
                                            const Listed& layers, const Plan<>& plan, OpList<>& ops) {
  return forward_totals<double>(structure, stack, layers, plan, ops);
}
MLSYSIM_KERNEL PlaceTotals<> training_totals(const Structure& structure, const StackView<>& stack,
                                             const Listed& layers, const Plan<>& plan, OpList<>& ops) {
  return training_totals<double>(structure, stack, layers, plan, ops);
}

template <> const Pricer<double>& operator_pricer<double>() {
  static const detail::OperatorPricer<double> pricer;
  return pricer;
}

}  // namespace mlsysim
