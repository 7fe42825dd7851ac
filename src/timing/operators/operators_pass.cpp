#include "timing/operators/operator_estimator.hpp"

#include <mlsysim/scalars/detail/clones.hpp>

namespace mlsysim {

// One copy for each instruction set: estimates are chains of divisions and roots. Each takes long to compile,
// so that they lie in files of their own.
MLSYSIM_KERNEL PassEstimate<> pass_estimate(const PassRequest<>& request, const Device<>& device,
                                            const Links<>& links, OpList<>& ops) {
  return pass_estimate<double>(request, device, links, ops);
}

}  // namespace mlsysim
