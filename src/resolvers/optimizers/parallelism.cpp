#include <mlsysim/resolver_api/axes.hpp>
#include <mlsysim/resolver_api/search.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/optimizers/parallelism.hpp>
#include <mlsysim/specs/detail/torus.hpp>
#include <mlsysim/timing/fidelity_model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace mlsysim {
namespace {

struct PlanCandidate {
  double tp = 1, pp = 1, dp = 1, ep = 1, cp = 1, zero = 0, microbatches = 1, v = 1;
  Recomputation recomputation = Recomputation::none;
  double overlap = 0, tp_overlap = 0;
  static constexpr auto fields() {
    using C = PlanCandidate;
    return rows(
        field(&C::tp, "tp", "", "tensor-parallel degree"), field(&C::pp, "pp", "", "pipeline stages"),
        field(&C::dp, "dp", "", "replicas"), field(&C::ep, "ep", "", "expert-parallel degree"),
        field(&C::cp, "cp", "", "context-parallel degree"), field(&C::zero, "zero", "", "ZeRO stage"),
        field(&C::microbatches, "microbatches", "", "micro-batches per replica"),
        field(&C::v, "v", "", "model chunks of a device"),
        field(&C::recomputation, "recomputation", "", "what is recomputed"),
        field(&C::overlap, "overlap", "", "share of a pass that hides gradient traffic"),
        field(&C::tp_overlap, "tp_overlap", "", "share of the tensor-parallel traffic beside its products"));
  }
};

bool divides(double part, double whole) { return std::fmod(whole, part) == 0; }

/// The divisors of a count, ascending: there are few of them, however large it is.
std::vector<double> divisors(double whole) {
  const Axis all = divisors_of(whole);
  std::vector<double> out(all.size());
  all.copy(0, out.size(), out.data());
  return out;
}

/// Choices besides the degrees. Simpler choices come first, so that they win ties.
struct PlanChoices {
  std::vector<double> experts, rows, overlaps, tp_overlaps;
  std::vector<Recomputation> recomputations;
  double most_cp = 1, most_v = 1;
};

/// Leaves out choices that the fidelity ignores, since they would make no difference.
PlanChoices choices_of(const ParallelismOptimizer::Inputs& in, const FidelityModel& fidelity_model) {
  const bool operators = fidelity_model.lists_operators();
  const auto& w = *in.workload;
  const bool sequences = w.architecture == Architecture::decoder || w.architecture == Architecture::encoder;
  PlanChoices c;
  const double experts = w.is_moe() ? *w.experts()->count : 1;
  c.experts = in.ep_size ? std::vector{*in.ep_size} : divisors(experts);
  c.rows = divisors(in.batch_size);
  c.recomputations = {Recomputation::none, Recomputation::selective, Recomputation::full};
  if (in.recomputation) c.recomputations = {*in.recomputation};
  // How much of the traffic hides is an assumption about the software, which nobody chooses with a plan.
  // Formulas from totals try both, as the Python package does.
  const double overlap = conventions_or_standard(in.conventions).overlap;
  c.overlaps = in.overlap_efficiency ? std::vector{*in.overlap_efficiency}
               : operators           ? std::vector{overlap}
                                     : std::vector{0.0, overlap};
  c.tp_overlaps = {in.tp_overlap.value_or(0.0)};
  if (sequences && operators) c.most_cp = in.max_cp.value_or(joined_inside(*in.fleet));
  if (sequences) c.most_v = in.max_v_stages;
  return c;
}

/// The plans of one division of the devices.
void add_plans(const ParallelismOptimizer::Inputs& in, const PlanChoices& choices,
               const PlanCandidate& degrees, std::vector<PlanCandidate>& out) {
  const double layers = in.workload->layers().value_or(0);
  const double local = in.batch_size / degrees.dp;
  const auto only_first = [](const auto& all, bool every) {
    return std::span(all).first(every ? all.size() : 1);
  };
  const bool exchanges = degrees.dp * degrees.cp * degrees.ep > 1;  // several ranks hold the same weights
  for (double zero = 0; zero <= in.max_zero_stage; ++zero) {
    if (zero > 0 && !exchanges) continue;  // nothing to shard over
    for (const double size : choices.rows) {
      if (!divides(size, local)) continue;
      const double count = local / size;
      for (double v = 1; v <= std::min(choices.most_v, std::max(layers, 1.0)); ++v) {
        // Chunks are whole layers, and an interleaved schedule takes its micro-batches in groups of as many
        // as stages.
        if (v > 1 && (degrees.pp == 1 || !divides(degrees.pp * v, layers) || !divides(degrees.pp, count)))
          continue;
        for (const auto recomputation : choices.recomputations)
          for (const double overlap : only_first(choices.overlaps, exchanges))
            for (const double tp_overlap : only_first(choices.tp_overlaps, degrees.tp > 1)) {
              PlanCandidate c = degrees;
              c.zero = zero;
              c.microbatches = count;
              c.v = v;
              c.recomputation = recomputation;
              c.overlap = overlap;
              c.tp_overlap = tp_overlap;
              out.push_back(c);
            }
      }
    }
  }
}

/// All plans that divide devices, heads, layers, experts, the sequence and the batch.
/// @param in with its seq_len settled
std::vector<PlanCandidate> candidates(const ParallelismOptimizer::Inputs& in,
                                      const FidelityModel& fidelity_model) {
  const PlanChoices choices = choices_of(in, fidelity_model);
  const double devices = in.fleet->total_accelerators();
  const double layers = in.workload->layers().value_or(kUnbounded), heads = in.workload->heads().value_or(0);
  const double most_tp = in.max_tp.value_or(joined_inside(*in.fleet));
  const double most_pp = std::min(in.max_pp.value_or(devices), layers);
  std::vector<PlanCandidate> out;
  const auto parts = divisors(devices);
  const auto up_to = [&](double most) {
    const auto end = std::upper_bound(parts.begin(), parts.end(), most);
    return std::span(parts.begin(), end);
  };
  for (const double tp : up_to(most_tp)) {
    if (heads > 0 && !divides(tp, heads)) continue;
    for (const double pp : up_to(most_pp)) {
      if (!divides(tp * pp, devices)) continue;
      for (const double ep : choices.experts) {
        for (const double cp : up_to(choices.most_cp)) {
          const double replica = tp * pp * ep * cp;
          // Each rank takes two pieces of a sequence, an early and a late one, so that causal work is even.
          if (!divides(replica, devices) || (cp > 1 && !divides(2 * cp, *in.seq_len))) continue;
          const double dp = devices / replica;
          if (!divides(dp, in.batch_size)) continue;  // an idle replica is never the best
          add_plans(in, choices, {.tp = tp, .pp = pp, .dp = dp, .ep = ep, .cp = cp}, out);
        }
      }
    }
  }
  return out;
}

DistributedModel::Result step_of(const ParallelismOptimizer::Inputs& in, const PlanCandidate& c,
                                 Notes& notes) {
  return DistributedModel{}.solve({.workload = in.workload,
                                   .fleet = in.fleet,
                                   .batch_size = in.batch_size,
                                   .precision = in.precision,
                                   .efficiency = in.efficiency,
                                   .tp_size = c.tp,
                                   .pp_size = c.pp,
                                   .ep_size = c.ep,
                                   .cp_size = c.cp,
                                   .v_stages = c.v,
                                   .microbatch_count = c.microbatches,
                                   .zero_stage = c.zero,
                                   .recomputation = c.recomputation,
                                   .seq_len = in.seq_len,
                                   .optimizer = in.optimizer,
                                   .overlap_efficiency = c.overlap,
                                   .tp_overlap = c.tp_overlap,
                                   .fidelity = in.fidelity,
                                   .conventions = in.conventions},
                                  notes);
}

}  // namespace

std::optional<ParallelismOptimizer::Result> ParallelismOptimizer::solve(const Inputs& asked, Search& search,
                                                                        Notes& notes) const {
  const FidelityModel& fidelity_model = fidelity_model_for(asked.fidelity, *asked.workload, notes);
  Inputs in = asked;
  in.fidelity = fidelity_model.fidelity();
  in.seq_len = seq_len_or_default(asked.seq_len, *asked.workload, 0, notes);
  const auto plans = candidates(in, fidelity_model);
  if (plans.empty())
    throw DomainError(
        {.id = "mlsysim.catalogue.041",
         .message = "no plan divides the fleet and the batch",
         .key = "batch_size",
         .found = fmt::format("a batch of {:g} on {:g} accelerators", in.batch_size,
                              in.fleet->total_accelerators()),
         .expected = "a batch that some number of replicas divides, and experts that divide the fleet",
         .hint = "use a multiple of the number of accelerators, or allow more tensor and pipeline stages",
         .reason = BreakReason::no_solution});
  Notes quiet;
  const auto found = search.minimize(plans, [&](const PlanCandidate& c) -> Score {
    const auto step = step_of(in, c, quiet);
    return {step.step_latency, {at_most("memory_utilization", step.memory_utilization, 1.0)}};
  });
  if (!found) return std::nullopt;
  const auto step = step_of(in, *found, notes);
  if (!in.overlap_efficiency)
    notes.assume("overlap_efficiency", conventions_or_standard(in.conventions).overlap,
                 fidelity_model.lists_operators() ? TextRef("zoo/defaults.yaml")
                                                  : TextRef("zoo/defaults.yaml; none is tried as well"));
  Result r{found.summary};
  r.tp_size = found->tp;
  r.pp_size = found->pp;
  r.dp_size = found->dp;
  r.ep_size = found->ep;
  r.cp_size = found->cp;
  r.zero_stage = found->zero;
  r.microbatch_count = found->microbatches;
  r.v_stages = found->v;
  r.recomputation = found->recomputation;
  r.overlap_efficiency = found->overlap;
  r.tp_overlap = found->tp_overlap;
  r.best_step_time = step.step_latency;
  r.best_throughput = step.effective_throughput;
  r.best_mfu = step.mfu;
  r.scaling_efficiency = step.scaling_efficiency;
  r.memory_utilization = step.memory_utilization;
  r.fidelity = step.fidelity;
  return r;
}

}  // namespace mlsysim
