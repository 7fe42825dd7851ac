#include <mlsysim/catalogue/models/distributed.hpp>
#include <mlsysim/catalogue/optimizers/parallelism.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace mlsysim {
namespace {

using In = ParallelismOptimizer::Inputs;

struct Candidate {
  double tp = 1, pp = 1, dp = 1, zero = 0, microbatches = 1;
  static constexpr auto fields() {
    using C = Candidate;
    return rows(field(&C::tp, "tp", "", "tensor-parallel degree"), field(&C::pp, "pp", "", "pipeline stages"),
                field(&C::dp, "dp", "", "replicas"), field(&C::zero, "zero", "", "ZeRO stage"),
                field(&C::microbatches, "microbatches", "", "micro-batches per replica"));
  }
};

bool divides(double part, double whole) { return std::fmod(whole, part) == 0; }

/// All plans that divide devices, heads, layers and the batch.
std::vector<Candidate> candidates(const In& in) {
  const double devices = in.fleet->total_accelerators();
  const auto& shape = in.workload->shape;
  const double layers = shape.layers.value_or(kUnbounded), heads = shape.heads.value_or(0);
  const double most_tp = in.max_tp.value_or(in.fleet->node->accelerators_per_node);
  const double most_pp = std::min(in.max_pp.value_or(devices), layers);
  std::vector<Candidate> out;
  for (double tp = 1; tp <= std::min(most_tp, devices); ++tp) {
    if (!divides(tp * in.ep_size, devices) || (heads > 0 && !divides(tp, heads))) continue;
    for (double pp = 1; pp <= most_pp && tp * pp * in.ep_size <= devices; ++pp) {
      if (!divides(tp * pp * in.ep_size, devices)) continue;
      const double dp = devices / (tp * pp * in.ep_size);
      if (!divides(dp, in.batch_size)) continue;  // an idle replica is never the best
      const double local = in.batch_size / dp;
      for (double zero = 0; zero <= in.max_zero_stage; ++zero) {
        if (zero > 0 && dp == 1) continue;  // nothing to shard over
        for (double size = 1; size <= local; size *= 2)
          if (divides(size, local)) out.push_back({tp, pp, dp, zero, local / size});
      }
    }
  }
  return out;
}

DistributedModel::Result step_of(const In& in, const Candidate& c, Notes& notes) {
  return DistributedModel{}.solve({.workload = in.workload,
                                   .fleet = in.fleet,
                                   .batch_size = in.batch_size,
                                   .precision = in.precision,
                                   .efficiency = in.efficiency,
                                   .tp_size = c.tp,
                                   .pp_size = c.pp,
                                   .ep_size = in.ep_size,
                                   .microbatch_count = c.microbatches,
                                   .zero_stage = c.zero,
                                   .recomputation = in.recomputation,
                                   .seq_len = in.seq_len,
                                   .optimizer = in.optimizer,
                                   .fidelity = in.fidelity,
                                   .conventions = in.conventions},
                                  notes);
}

}  // namespace

std::optional<ParallelismOptimizer::Result> ParallelismOptimizer::solve(const Inputs& in, Search& search,
                                                                        Notes& notes) const {
  const auto plans = candidates(in);
  if (plans.empty())
    throw DomainError(
        {.id = "mlsysim.catalogue.041",
         .message = "no plan divides the fleet and the batch",
         .key = "batch_size",
         .found = fmt::format("a batch of {:g} on {:g} accelerators", in.batch_size,
                              in.fleet->total_accelerators()),
         .expected = "a batch that some number of replicas divides, and experts that divide the fleet",
         .hint = "use a multiple of the number of accelerators, or allow more tensor and pipeline stages"});
  Notes quiet;
  const auto found = search.minimize(plans, [&](const Candidate& c) -> Score {
    const auto step = step_of(in, c, quiet);
    return {step.step_latency_total, {at_most("memory_utilization", step.memory_utilization, 1.0)}};
  });
  if (!found) return std::nullopt;
  const auto step = step_of(in, *found, notes);
  Result r{found.summary};
  r.tp_size = found->tp;
  r.pp_size = found->pp;
  r.dp_size = found->dp;
  r.zero_stage = found->zero;
  r.microbatch_count = found->microbatches;
  r.best_step_time = step.step_latency_total;
  r.best_throughput = step.effective_throughput;
  r.best_mfu = step.mfu;
  r.scaling_efficiency = step.scaling_efficiency;
  r.memory_utilization = step.memory_utilization;
  r.fidelity = step.fidelity;
  return r;
}

}  // namespace mlsysim
