#include "resolvers/shared/plan_check.hpp"
#include "resolvers/shared/training_plan.hpp"

#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/machine.hpp>
#include <mlsysim/resolvers/models/training_memory.hpp>

#include <cmath>

namespace mlsysim {

TrainingMemoryModel::Result TrainingMemoryModel::solve(const Inputs& in, Notes& notes) const {
  const Conventions& c = conventions_or_standard(in.conventions);
  // Views, division and memory are those of a training step on a fleet of exactly these devices.
  auto v = detail::training_problem(in, *in.hardware, notes);
  const auto degrees = detail::training_degrees(in);
  detail::check_folding(degrees);
  detail::check_degrees(*in.workload, degrees, v.seq_len, notes);
  v.accelerators = in.dp_size * degrees.replica();
  v.links = shipped_links(*v.fidelity_model, *in.hardware, v.accelerators, c, notes, Phase::training);
  v.batch_size = in.batch_size;
  v.gradient_accumulation_steps = in.gradient_accumulation_steps;
  const auto plan = training_plan(v);
  detail::note_default_microbatches(v, share_batch(v.batch_size, plan.dp).sequences, plan.microbatches,
                                    notes);
  Result out;
  out.fidelity = v.fidelity_model->fidelity();
  out.microbatch_size = plan.largest_sequences();
  out.microbatch_count = plan.microbatches;
  out.memory = v.fidelity_model->estimator<double>().step_memory(v.model, plan, v.device);
  out.total_memory = out.memory.total;
  out.available_memory = out.memory.capacity;
  out.memory_utilization = out.memory.total / out.memory.capacity;
  out.feasible = out.memory.total <= out.memory.capacity;
  return out;
}

}  // namespace mlsysim
