#pragma once
// `evaluate` over any scalar; instantiated for each in a file of its own.

#include <mlsysim/estimate/detail/steady.hpp>

#include <mlsysim/estimate/evaluate.hpp>
#include <mlsysim/physics/reliability.hpp>
#include <mlsysim/timing/detail/failure.hpp>

namespace mlsysim {
namespace detail {

/// Whether a plan with workers for prompts is one: they have a part of the model each, and there are devices.
template <class T> T pools_fit(const ServingProblem<T>& p, const T& replicas) {
  if (!p.prefill.apart) return T{1.0};
  const Plan<T> worker = p.worker_plan();
  auto fits = divides(p.limits, p.model, worker, p.worker_devices(), p.prefill.workers);
  if (!p.prefill.all)
    fits = fits && (p.worker_devices() + replicas * (p.plan.tp * p.plan.pp * p.plan.ep) <= p.accelerators);
  return select(fits, T{1.0}, T{0.0});
}

template <class T> FeasibilityEstimate<T> feasibility(const MemoryBreakdown<T>& m, const T& plan_fits) {
  return {.memory_used = m.total,
          .memory_capacity = m.capacity,
          .memory_shortfall = max(m.total - m.capacity, Data<T>()),
          .memory_utilization = m.total / m.capacity,
          .plan_fits = plan_fits};
}

/// The memory of the fuller of two pools.
template <class T>
FeasibilityEstimate<T> fuller(const FeasibilityEstimate<T>& a, const FeasibilityEstimate<T>& b) {
  const auto second = b.memory_utilization > a.memory_utilization;
  return {.memory_used = select(second, b.memory_used, a.memory_used),
          .memory_capacity = select(second, b.memory_capacity, a.memory_capacity),
          .memory_shortfall = max(a.memory_shortfall, b.memory_shortfall),
          .memory_utilization = max(a.memory_utilization, b.memory_utilization),
          .plan_fits = a.plan_fits};
}

template <class Problem> [[nodiscard]] auto devices_of(const Problem& p) {
  if constexpr (requires { p.devices(); })
    return p.devices();
  else
    return p.accelerators;
}

/// Cost, energy and carbon of a problem's devices at this load; empty where their power is unknown.
/// @param tokens of a second, null where there are none
template <class Problem, class T>
MacroEstimate<T> macro_of(const Problem& p, const T& utilization, const TokenRate<T>* tokens) {
  MacroEstimate<T> out;
  if (!p.macro.has_power) return out;
  out = macro_estimate<T>(p.macro, {.tdp = p.device.power.tdp,
                                    .idle_fraction = p.device.conventions.idle_fraction,
                                    .accelerators = devices_of(p),
                                    .utilization = utilization});
  if (tokens != nullptr) add_per_token(out, *tokens, p.macro.period());
  return out;
}

/// A job of so many devices; part of a node is a node.
template <class T>
[[nodiscard]] ReliabilityEstimate<T> reliability_estimate(Fidelity fidelity, const FailureProblem<T>& f,
                                                          const T& accelerators) {
  ReliabilityEstimate<T> out;
  const T nodes = ceil_div(accelerators, f.devices_per_node);
  out.fleet_mtbf = apply<ClusterMtbf, T>({f.node_mtbf, nodes}).mtbf;
  out.checkpoint_interval = usual_interval(fidelity, f.checkpoint_time, out.fleet_mtbf);
  out.goodput_ratio = useful_time(fidelity, JobTimes<T>{out.checkpoint_interval, f.checkpoint_time,
                                                        f.recovery_time, out.fleet_mtbf})
                          .share;
  return out;
}

/// Whether a training plan is one: its replicas, shards and micro-batches.
template <class T> T training_fits(const TrainingProblem<T>& p, const T& dp) {
  const T local = share_batch(p.batch_size, dp).sequences;
  auto fits = divides(p.limits, p.model, p.plan, p.accelerators, dp) && (p.plan.cp <= p.seq_len) &&
              (p.gradient_accumulation_steps <= local);
  if (p.sharded) fits = fits && whole(T(dp * p.plan.sequence_ranks() * p.plan.cp / p.plan.shards));
  if (p.plan.folded) fits = fits && whole(p.plan.sequence_ranks());
  if (p.division == Microbatches::sized) {
    const T count = ceil_div(local, T(p.microbatch_size * p.plan.sequence_ranks())),
            given = p.given_microbatches * p.gradient_accumulation_steps;
    fits = fits && ((given == T{0.0}) || (count == given));
  }
  return select(fits, T{1.0}, T{0.0});
}

}  // namespace detail

template <class T> ServingEstimate<T> evaluate(const ServingProblem<T>& p) {
  ServingEstimate<T> out = p.load == Load::burst ? detail::serving_estimate(p) : detail::steady_serving(p);
  const T fits = select(detail::divides(p.limits, p.model, p.plan, p.devices(), out.replicas) &&
                            (p.cached_prefix_len < p.seq_len),
                        detail::pools_fit(p, out.replicas), T{0.0});
  out.feasibility = detail::feasibility(out.memory, fits);
  if (p.prefill.apart)
    out.feasibility = detail::fuller(out.feasibility, detail::feasibility(out.prefill_memory_use, fits));
  out.macro = detail::macro_of(p, out.utilization, &out.token_throughput);
  return out;
}

template <class T> TrainingEstimate<T> evaluate(const TrainingProblem<T>& p) {
  TrainingEstimate<T> out = detail::training_estimate(p);
  out.feasibility = detail::feasibility(out.memory, detail::training_fits(p, out.dp_size));
  const auto& tokens = out.token_throughput;
  if (p.fails)
    out.reliability = detail::reliability_estimate(p.fidelity_model->fidelity(), p.failures, p.accelerators);
  out.macro = detail::macro_of(p, out.utilization, &tokens);
  if (!p.has_tokens) return out;
  out.training_time = Tokens<T>::from_base(p.training_tokens) / tokens;
  // Failures stretch training by 1 / goodput; the lost time is paid in full.
  if (p.fails) out.training_time = out.training_time / out.reliability.goodput_ratio;
  if (p.macro.has_power) {
    out.macro.run_cost = out.macro.tco * (out.training_time / p.macro.period());
    out.macro.run_energy = out.macro.energy * (out.training_time / p.macro.period());
  }
  return out;
}

template <class T> InferenceEstimate<T> evaluate(const InferenceProblem<T>& p) {
  InferenceEstimate<T> out = detail::inference_estimate(p);
  const T fits = select(detail::full_nodes(p.limits, p.accelerators), T{1.0}, T{0.0});
  out.feasibility = detail::feasibility(out.memory, fits);
  out.macro = detail::macro_of(p, out.utilization, static_cast<const TokenRate<T>*>(nullptr));
  if (p.macro.has_power)
    out.macro.energy_per_batch = energy_of_batch(p.device, out.device_utilization, out.latency);
  return out;
}

}  // namespace mlsysim
