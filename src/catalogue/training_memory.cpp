#include "detail/plan_check.hpp"
#include "detail/training_plan.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/training_memory.hpp>
#include <mlsysim/catalogue/textbook.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {

TrainingMemoryModel::Result TrainingMemoryModel::solve(const Inputs& in, Notes& notes) const {
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  Result out;
  out.fidelity = fidelity_or_default(in.fidelity, *in.workload, notes);
  detail::check_degrees(*in.workload, {.tp = in.tp_size, .pp = in.pp_size, .ep = in.ep_size, .cp = in.cp_size, .v_stages = in.v_stages},
                        in.seq_len, notes);
  // The same division as that of a step which names no micro-batch.
  const double local = std::max(1.0, std::ceil(in.batch_size / in.dp_size));
  const auto divide = [&](const PassViews<>& v) {
    const auto divided = divide_batch(local, detail::microbatches_by_default(in, v, local, out.fidelity, notes));
    out.microbatch_size = divided.microbatch;
    out.microbatch_count = divided.microbatches;
    return divided;
  };
  if (out.fidelity == Fidelity::textbook) {
    (void)divide({});
    detail::warn_of_unpriced_plan(in, notes);
    detail::warn_of_unpriced(in, {"v_stages"}, notes);
    const TextbookTotals t = textbook_totals(*in.workload, notes);
    out.memory = textbook_training_memory(
        *in.workload, t,
        {.tp = in.tp_size, .pp = in.pp_size, .dp = in.dp_size, .ep = in.ep_size, .microbatch = out.microbatch_size,
         .seq_len = in.seq_len, .trainable = in.trainable_fraction, .zero_stage = static_cast<int>(in.zero_stage),
         .recomputation = in.recomputation, .sequence_parallel = in.sequence_parallel},
        *in.hardware, precision, in.optimizer, c.gradient_bucket);
  } else {
    // The same list and plan as a step of a fleet that has just these devices.
    const double devices = in.tp_size * in.pp_size * in.dp_size * in.ep_size * in.cp_size;
    PassViews<> v = detail::training_views(
        in, *in.hardware,
        {.devices = devices, .dp = in.dp_size, .local_batch = local},
        notes);
    v.links = links_view(*in.hardware, devices, c, notes);
    const auto divided = divide(v);
    v.plan.microbatches = divided.microbatches;
    v.plan.batch = divided.microbatch;
    OpList<> ops;
    out.memory = step_time(v.model, v.plan, v.device, v.links, ops).memory;
  }
  out.total_memory = out.memory.total;
  out.available_memory = out.memory.capacity;
  out.memory_utilization = out.memory.total / out.memory.capacity;
  out.feasible = out.memory.total <= out.memory.capacity;
  return out;
}

}  // namespace mlsysim
