#include "detail/parts_memo.hpp"

#include <mlsysim/scalars/clones.hpp>

namespace mlsysim {

MLSYSIM_KERNEL StepTime<Batch<>> step_of(const StepParts<Batch<>>& parts, const ModelView<Batch<>>& model, const Plan<Batch<>>& plan,
                                         const Device<Batch<>>& device) {
  return step_of<Batch<>>(parts, model, plan, device);
}

}  // namespace mlsysim
