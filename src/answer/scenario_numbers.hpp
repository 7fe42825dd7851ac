#pragma once
// The numbers of a scenario over any scalar; instantiated for each in a file of its own.

#include <mlsysim/answer/scenario.hpp>
#include <mlsysim/physics/reliability.hpp>
#include <mlsysim/price/detail/failure.hpp>

namespace mlsysim {
namespace detail {

/// Whether `x` is a whole number of at least 1.
template <class T> auto whole(const T& x) { return (floor(x) >= x) && (x >= T{1.0}); }

template <class T> auto full_nodes(const ScenarioShape& s, const ScenarioInputs<T>& in, const T& devices) {
  const auto full = whole(T(devices / in.limits.per_node));
  return s.part_of_node ? full || (devices <= in.limits.per_node) : full;
}

/// The checks that are made of a plan, over numbers: devices fill nodes and replicas, and every device has a
/// part of the model. Which checks there are hangs on the shape alone.
template <class T> auto divided(const ScenarioShape& s, const ScenarioInputs<T>& in, const T& replicas) {
  const auto& run = in.run;
  auto ok = whole(replicas) && full_nodes(s, in, run.accelerators) &&
            (run.ep_size <= (s.prefill.moe && in.stack ? in.stack->experts : T{1.0}));
  const T layers = in.stack ? in.stack->layers : T{0.0};
  // Of an interleaved pipeline the two ends of the model may be chunks of their own.
  if (s.has_layers)
    ok = ok && (run.pp_size * run.v_stages <= layers + select(run.v_stages > T{1.0}, T{2.0}, T{0.0}));
  if (s.has_heads) ok = ok && (run.tp_size <= (in.stack ? in.stack->heads : T{1.0}));
  return ok;
}

template <class T> void set_memory(FeasibilityNumbers<T>& out, const MemoryBreakdown<T>& m) {
  out.memory_used = m.total;
  out.memory_capacity = m.capacity;
  out.memory_missing = max(m.total - m.capacity, Data<T>());
  out.memory_utilization = m.total / m.capacity;
}

template <class T>
void add_macro(const ScenarioShape& s, const ScenarioInputs<T>& in, const T& utilization,
               const TokenRate<T>* tokens, ScenarioResults<T>& out) {
  out.macro.utilization = utilization;
  if (!s.has_power) return;
  const auto period = Time<T>::from_base(in.run.duration_days * 86400.0);
  out.macro = macro_numbers<T>({.facility = in.facility,
                                .tdp = in.device.power.tdp,
                                .idle_fraction = in.device.conventions.idle_fraction,
                                .accelerators = in.run.accelerators,
                                .utilization = utilization,
                                .period = period,
                                .infrastructure = in.run.infrastructure_multiplier,
                                .energy_price = in.run.kwh_price,
                                .unit_cost = in.run.unit_cost});
  if (tokens != nullptr) add_per_token(out.macro, *tokens, period);
}

/// A job of so many devices; part of a node is a node.
template <class T>
[[nodiscard]] ReliabilityNumbers<T> reliability_numbers(Fidelity fidelity, const FailureNumbers<T>& f,
                                                        const T& accelerators) {
  ReliabilityNumbers<T> out;
  const T nodes = ceil_div(accelerators, f.devices_per_node);
  out.fleet_mtbf = apply<ClusterMtbf, T>({f.node_mtbf, nodes}).mtbf;
  out.checkpoint_interval = usual_interval(fidelity, f.checkpoint_time, out.fleet_mtbf);
  out.goodput_ratio = useful_time(fidelity, JobTimes<T>{out.checkpoint_interval, f.checkpoint_time,
                                                        f.recovery_time, out.fleet_mtbf})
                          .share;
  return out;
}

template <class T> Plan<T> plan_of(const ScenarioInputs<T>& in) {
  Plan<T> plan = in.plan;
  plan.tp = in.run.tp_size;
  plan.pp = in.run.pp_size;
  plan.ep = in.run.ep_size;
  plan.expert_tp = in.run.expert_tp_size;
  return plan;
}

/// What the views of one pass or step over one device and model take, but for the plan.
template <class T, class Views>
void set_model(const ScenarioShape& s, const ScenarioInputs<T>& in, Views& v) {
  v.pricing = s.pricing;
  v.model = {s.prefill, in.stack, s.layers, in.totals};
  v.device = in.device;
  v.links = {in.links, s.links};
  v.batch = in.run.batch_size;
  v.accelerators = in.run.accelerators;
  v.seq_len = in.run.seq_len;
  v.sequences = s.sequences;
}

template <class T> void serve(const ScenarioShape& s, const ScenarioInputs<T>& in, ScenarioResults<T>& out) {
  out.serving = serving_numbers(serving_views(s, in));
  const T fits = select(divided(s, in, out.serving.replicas) && (in.run.cached_prefix_len < in.run.seq_len),
                        T{1.0}, T{0.0});
  out.feasibility.plan_fits = fits;
  set_memory(out.feasibility, out.serving.memory);
  add_macro(s, in, out.serving.utilization, &out.serving.token_throughput, out);
}

template <class T> void train(const ScenarioShape& s, const ScenarioInputs<T>& in, ScenarioResults<T>& out) {
  const auto& run = in.run;
  const auto v = training_views(s, in);
  out.training = training_numbers(v);
  const T dp = out.training.dp_size, local = share_batch(run.batch_size, dp).sequences;
  auto fits =
      divided(s, in, dp) && (run.cp_size <= run.seq_len) && (run.gradient_accumulation_steps <= local);
  if (s.sharded) fits = fits && whole(T(dp * v.plan.sequence_ranks() * run.cp_size / in.plan.shards));
  if (s.folded) fits = fits && whole(v.plan.sequence_ranks());
  if (s.division == Microbatches::sized) {
    const T count = ceil_div(local, T(run.microbatch_size * v.plan.sequence_ranks())),
            given = in.limits.given_count * run.gradient_accumulation_steps;
    fits = fits && ((given == T{0.0}) || (count == given));
  }
  out.feasibility.plan_fits = select(fits, T{1.0}, T{0.0});
  set_memory(out.feasibility, out.training.memory);
  const auto& tokens = out.training.token_throughput;
  if (s.fails) out.reliability = reliability_numbers(s.pricing->fidelity(), in.failures, run.accelerators);
  if (s.has_tokens) out.training_time = Tokens<T>::from_base(in.limits.training_tokens) / tokens;
  add_macro(s, in, out.training.utilization, &tokens, out);
}

template <class T> void infer(const ScenarioShape& s, const ScenarioInputs<T>& in, ScenarioResults<T>& out) {
  out.inference = inference_numbers(inference_views(s, in));
  out.feasibility.plan_fits = select(full_nodes(s, in, in.run.accelerators), T{1.0}, T{0.0});
  set_memory(out.feasibility, out.inference.memory);
  add_macro(s, in, out.inference.utilization, static_cast<const TokenRate<T>*>(nullptr), out);
}

}  // namespace detail

template <class T> ServingViews<T> serving_views(const ScenarioShape& s, const ScenarioInputs<T>& in) {
  const auto& run = in.run;
  ServingViews<T> v;
  v.pricing = s.pricing;
  v.prefill = {s.prefill, in.stack, s.layers, in.totals};
  v.decode = {s.decode, in.stack, s.layers, in.totals};
  v.prefill_device = in.device;
  v.apart = s.apart;
  v.decode_device = s.apart ? in.decode_device : in.device;
  v.transfer = in.network_bandwidth;
  v.links = {in.links, s.links};
  v.plan = detail::plan_of(in);
  v.batch = run.batch_size;
  v.accelerators = run.accelerators;
  v.prompt = run.seq_len;
  v.cached = run.cached_prefix_len;
  v.chunk = run.prefill_chunk_tokens;
  v.chunks = s.chunks;
  v.budgeted = s.budgeted;
  v.divided = s.divided;
  v.issues = s.issues;
  v.prompts = s.prompts;
  v.prompt_issue = in.limits.prompt_issue;
  v.graph_batch = in.limits.graph_batch;
  v.output = run.output_tokens;
  v.generates = s.generates;
  v.drafts = s.drafts;
  if (s.drafts) {
    v.draft = {s.draft, in.draft_stack, {}, in.draft.totals};
    v.draft_plan = in.plan;
    v.draft_plan.tp = in.draft.tp;
    v.draft_plan.pp = v.draft_plan.ep = T{1.0};
    v.acceptance = run.draft_acceptance_rate;
    v.drafted = run.draft_tokens;
    v.kept = s.kept;
    v.acceptance_decay = run.draft_acceptance_decay;
    v.acceptance_length = run.acceptance_length;
  }
  return v;
}

template <class T> TrainingViews<T> training_views(const ScenarioShape& s, const ScenarioInputs<T>& in) {
  const auto& run = in.run;
  TrainingViews<T> v;
  detail::set_model(s, in, v);
  v.plan = detail::plan_of(in);
  v.plan.cp = run.cp_size;
  v.plan.folded = s.folded;
  v.plan.virtual_stages = run.v_stages;
  v.plan.congestion = run.congestion_factor;
  v.plan.straggler = run.straggler_factor;
  v.division = s.division;
  v.microbatch_size = run.microbatch_size;
  v.microbatch_count = run.microbatch_count;
  v.accumulation_steps = run.gradient_accumulation_steps;
  v.spills = s.spills;
  return v;
}

template <class T> InferenceViews<T> inference_views(const ScenarioShape& s, const ScenarioInputs<T>& in) {
  InferenceViews<T> v;
  detail::set_model(s, in, v);
  v.plan = in.plan;
  return v;
}

template <class T> ScenarioResults<T> scenario_numbers(const ScenarioShape& s, const ScenarioInputs<T>& in) {
  ScenarioResults<T> out;
  switch (s.kind) {
    case ScenarioKind::serving:
      detail::serve(s, in, out);
      break;
    case ScenarioKind::training:
      detail::train(s, in, out);
      break;
    case ScenarioKind::inference:
      detail::infer(s, in, out);
      break;
  }
  return out;
}

}  // namespace mlsysim
