#include "timing/operators/operator_estimator.hpp"

#include <mlsysim/scalars/detail/clones.hpp>

namespace mlsysim {

// One copy for each instruction set: estimates are chains of divisions and roots. Each takes long to compile,
// so that they lie in files of their own.
MLSYSIM_KERNEL PlaceTotals<> forward_totals(const Structure& structure, const StackView<>& stack,
                                            const Listed& layers, const Plan<>& plan, OpList<>& ops) {
  return forward_totals<double>(structure, stack, layers, plan, ops);
}
MLSYSIM_KERNEL PlaceTotals<> training_totals(const Structure& structure, const StackView<>& stack,
                                             const Listed& layers, const Plan<>& plan, OpList<>& ops) {
  return training_totals<double>(structure, stack, layers, plan, ops);
}

template <> const PassEstimator<double>& operator_estimator<double>() {
  static const detail::OperatorEstimator<double> estimator;
  return estimator;
}

}  // namespace mlsysim
