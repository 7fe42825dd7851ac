#include "catalogue/shared/expert_exchange.hpp"
#include "catalogue/shared/power_limits.hpp"
#include "catalogue/shared/training_plan.hpp"

#include <mlsysim/answer/detail/limits.hpp>
#include <mlsysim/catalogue/detail/prepare.hpp>

namespace mlsysim {
namespace {
using In = DistributedModel::Inputs;
using Out = DistributedModel::Result;
}  // namespace

TrainingViews<> prepare_training(const In& asked, Notes& notes) {
  In in = asked;
  in.seq_len = seq_len_or_default(asked.seq_len, *asked.workload, 0, notes);
  const Conventions& c = conventions_or_standard(in.conventions);
  const auto layout = detail::layout_of(in, notes);
  detail::warn_of_idle_parts(in, layout, notes);
  warn_of_uneven_batch(in.batch_size, layout.dp, notes);
  if (in.zero_stage < 3 && layout.dp * in.ep_size * in.cp_size > 1)
    notes.assume("exchange_bucket", c.exchange_bucket, kDefaults);
  TrainingViews<> v = detail::training_views(in, *in.fleet->node->accelerator, notes);
  if (in.efficiency) set_matrix_share(v.device, in.efficiency);
  v.model.structure.prefetch = in.backward_prefetch;
  v.links = v.pricing->links(*in.fleet, c, notes, Phase::training);
  v.links.form.algorithm = in.collective_algorithm;
  if (in.fleet->total_accelerators() <= devices_inside(v.links))
    detail::warn_of_idle(in, {"collective_algorithm"}, "inside one node", notes);
  v.pricing->set_overlap(v.plan, in.overlap_efficiency, in.overlap_slowdown, c, notes);
  v.plan.congestion = in.congestion_factor;
  v.plan.straggler = in.straggler_factor;
  if (v.pricing->lists_operators()) {
    auto& s = v.model.structure;
    s.capped = detail::set_power_limits(v.plan, in.power_cap, in.clock_limit, *in.fleet->node->accelerator, c,
                                        notes);
    detail::set_expert_exchange(in, in.ep_size, false, "per_node", v.plan, s, notes);
  }
  v.batch = in.batch_size;
  v.accelerators = in.fleet->total_accelerators();
  v.division = in.microbatch_size    ? Microbatches::sized
               : in.microbatch_count ? Microbatches::counted
                                     : Microbatches::by_default;
  v.microbatch_size = in.microbatch_size.value_or(1);
  v.microbatch_count = in.microbatch_count.value_or(1);
  v.accumulation_steps = in.gradient_accumulation_steps;
  warn_of_positions(*in.workload, v.seq_len, notes);
  return v;
}

void warn_of_microbatches(const In& in, const TrainingViews<>& v, const TrainingNumbers<>& n, Notes& notes) {
  detail::check_microbatches(in, v, n.microbatch_count, n.microbatch_size, notes);
}

DistributedModel::Result DistributedModel::solve(const Inputs& in, Notes& notes) const {
  const auto v = prepare_training(in, notes);
  const auto n = training_numbers(v);
  warn_of_microbatches(in, v, n, notes);
  Out out;
  out.fidelity = v.pricing->fidelity();
  out.step_latency_total = n.step_latency;
  out.latency_compute = n.latency_compute;
  out.latency_memory = n.latency_memory;
  out.latency_overhead = n.latency_overhead;
  out.dp_communication_latency = n.data_parallel;
  out.tp_communication_latency = n.tensor_parallel;
  out.ep_communication_latency = n.expert_parallel;
  out.cp_communication_latency = n.context_parallel;
  out.pp_communication_latency = n.pipeline_parallel;
  out.host_transfer_latency = n.host_transfer;
  out.communication_latency = n.comm_overhead;
  out.exposed_communication_latency = n.latency_network;
  out.pipeline_bubble_latency = n.pipeline_bubble;
  out.bubble_fraction = n.bubble_fraction;
  out.scaling_efficiency = n.scaling_efficiency;
  out.effective_throughput = n.fleet_throughput;
  if (in.workload->hidden()) out.token_throughput = n.token_throughput;
  out.mfu = n.mfu;
  out.hfu = n.hfu;
  out.utilization = n.utilization;
  out.tp_size = in.tp_size;
  out.pp_size = in.pp_size;
  out.ep_size = in.ep_size;
  out.cp_size = in.cp_size;
  out.dp_size = n.dp_size;
  out.microbatch_size = n.microbatch_size;
  out.microbatch_count = n.microbatch_count;
  out.accelerators = v.accelerators;
  out.memory = n.memory;
  out.memory_footprint = n.memory.total;
  out.memory_utilization = n.memory.total / n.memory.capacity;
  out.feasible = n.memory.total <= n.memory.capacity;
  out.bottleneck = step_limit(n);
  return out;
}

}  // namespace mlsysim
