#include "resolvers/shared/expert_exchange.hpp"
#include "resolvers/shared/host_memory.hpp"
#include "resolvers/shared/power_limits.hpp"
#include "resolvers/shared/training_plan.hpp"

#include <mlsysim/estimate/detail/bottleneck.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/timing/collective.hpp>

namespace mlsysim {
namespace {
using In = DistributedModel::Inputs;
using Out = DistributedModel::Result;
}  // namespace

TrainingProblem<> settle(const In& asked, Notes& notes) {
  In in = asked;
  in.seq_len = seq_len_or_default(asked.seq_len, *asked.workload, 0, notes);
  const Conventions& c = conventions_or_standard(in.conventions);
  const auto layout = detail::layout_of(in, notes);
  detail::warn_of_idle_parts(in, layout, notes);
  warn_of_uneven_batch(in.batch_size, layout.dp, notes);
  if (in.zero_stage < 3 && layout.dp * in.ep_size * in.cp_size > 1)
    notes.assume("exchange_bucket", c.exchange_bucket, kDefaults);
  TrainingProblem<> v = detail::training_problem(in, *in.fleet->node->accelerator, notes);
  if (v.model.structure.host_computes)
    v.plan.host_bandwidth =
        detail::host_bandwidth(in.host_memory_bandwidth, in.fleet->node->accelerators_per_node, c, notes);
  else
    detail::warn_of_idle(in, {"host_memory_bandwidth"}, "without offload_gradients", notes);
  if (in.efficiency) set_matrix_share(v.device, in.efficiency);
  v.model.structure.prefetch = in.backward_prefetch;
  v.links = v.fidelity_model->links(*in.fleet, c, notes, Phase::training);
  if (in.collective_algorithm != CollectiveAlgorithm::usual) v.links.form.algorithm = in.collective_algorithm;
  if (in.fleet->total_accelerators() <= devices_inside(v.links))
    detail::warn_of_idle(in, {"collective_algorithm"}, "inside one node", notes);
  v.fidelity_model->set_overlap(v.plan, in.overlap_efficiency, in.overlap_slowdown, c, notes);
  if (v.fidelity_model->lists_operators()) {
    auto& s = v.model.structure;
    s.capped = detail::set_power_limits(v.plan, in.power_cap, in.clock_limit, *in.fleet->node->accelerator, c,
                                        notes);
    detail::set_expert_exchange(in, in.ep_size, false, "per_node", v.plan, s, notes);
  }
  v.batch_size = in.batch_size;
  v.accelerators = in.fleet->total_accelerators();
  v.division = in.microbatch_size    ? Microbatches::sized
               : in.microbatch_count ? Microbatches::counted
                                     : Microbatches::by_default;
  v.microbatch_size = in.microbatch_size.value_or(1);
  v.microbatch_count = in.microbatch_count.value_or(1);
  v.gradient_accumulation_steps = in.gradient_accumulation_steps;
  if (v.division == Microbatches::sized) v.given_microbatches = in.microbatch_count.value_or(0);
  warn_of_positions(*in.workload, v.seq_len, 0, notes);
  return v;
}

void warn_of_microbatches(const In& in, const TrainingProblem<>& v, const TrainingEstimate<>& n,
                          Notes& notes) {
  detail::check_microbatches(in, v, n.microbatch_count, notes);
}

DistributedModel::Result DistributedModel::solve(const Inputs& in, Notes& notes) const {
  const auto problem = settle(in, notes);
  Out out{evaluate(problem)};
  warn_of_microbatches(in, problem, out, notes);
  if (!in.workload->hidden()) out.token_throughput = {};
  out.fidelity = problem.fidelity_model->fidelity();
  out.tp_size = in.tp_size;
  out.pp_size = in.pp_size;
  out.ep_size = in.ep_size;
  out.cp_size = in.cp_size;
  out.accelerators = problem.accelerators;
  out.memory_footprint = out.memory.total;
  out.memory_utilization = out.memory.total / out.memory.capacity;
  out.feasible = out.memory.total <= out.memory.capacity;
  out.bottleneck = step_limit(out);
  return out;
}

}  // namespace mlsysim
