#pragma once
// A scenario at operator fidelity over any scalar: what the resolvers of the catalogue do with doubles around the cores,
// written once more over T. tests/unit/explore holds the two to the same numbers.

#include "scenario_numbers.hpp"

#include <mlsysim/answer/replicas.hpp>
#include <mlsysim/catalogue/core/spill.hpp>
#include <mlsysim/catalogue/core/training.hpp>
#include <mlsysim/physics/carbon.hpp>
#include <mlsysim/physics/cost.hpp>
#include <mlsysim/physics/energy.hpp>
#include <mlsysim/tape/law_entry.hpp>

namespace mlsysim::detail {

/// Cost, energy and carbon of the period at this load.
template <class T>
void add_macro(const ScenarioInputs<T>& in, TokenRate<T> tokens, ScenarioResults<T>& out) {
  const auto period = Time<T>::from_base(in.run.duration_days * 86400.0);
  const auto& f = in.facility;
  const auto it = apply<EnergyProportional, T>({.tdp = in.device.tdp, .utilization = out.utilization, .time = period,
                                                .idle_fraction = in.device.idle_fraction}).energy * in.run.accelerators;
  out.energy = apply<FacilityEnergy, T>({.energy = it, .pue = f.pue}).facility_energy;
  out.carbon_footprint = apply<CarbonFootprint, T>({.energy = it, .pue = f.pue, .carbon_intensity = f.carbon_intensity,
                                                    .device_carbon = f.embodied_carbon, .devices = in.run.accelerators,
                                                    .used_time = period, .lifetime = f.lifetime}).carbon_footprint;
  out.water = apply<WaterUse, T>({.energy = it, .wue = f.wue}).water;
  const auto cost = apply<TotalCost, T>({.unit_cost = in.run.unit_cost, .devices = in.run.accelerators, .used_time = period,
                                         .lifetime = f.lifetime, .facility_energy = out.energy,
                                         .energy_price = in.run.kwh_price,
                                         .infrastructure = in.run.infrastructure_multiplier,
                                         .annual_maintenance = f.maintenance_share});
  out.tco = cost.tco;
  out.capex = cost.capital;
  out.energy_cost = cost.energy_cost;
  out.maintenance = cost.maintenance;
  out.cost_per_token = apply<CostPerToken, T>({.cost_rate = out.tco / period, .token_throughput = tokens}).cost_per_token;
  out.energy_per_token = out.energy / (tokens * period);
  out.carbon_per_token = out.carbon_footprint / (tokens * period);
}

template <class T>
void add_memory(const MemoryBreakdown<T>& m, ScenarioResults<T>& out) {
  out.memory_used = m.total;
  out.memory_capacity = m.capacity;
  out.memory_missing = max(m.total - m.capacity, Data<T>());
  out.memory_utilization = m.total / m.capacity;
}

/// Whether `x` is a whole number of at least 1.
template <class T>
[[nodiscard]] auto whole(const T& x) {
  return (floor(x) >= x) && (x >= T{1.0});
}

template <class T>
[[nodiscard]] auto full_nodes(const ScenarioState& s, const T& devices) {
  const auto full = whole(devices / s.per_node);
  return s.part_of_node ? full || (devices <= T{s.per_node}) : full;
}

/// The checks that eval makes of a plan, over numbers: devices fill nodes and replicas, and every device has a part of the
/// model. Which checks there are hangs on the state alone.
template <class T>
[[nodiscard]] auto divided(const ScenarioState& s, const ScenarioInputs<T>& in, const T& replicas) {
  const auto& run = in.run;
  auto ok = whole(replicas) && full_nodes(s, run.accelerators) && (run.ep_size <= (s.prefill.moe ? in.shape.experts : T{1.0}));
  if (s.has_layers) ok = ok && (run.pp_size * run.v_stages <= in.shape.layers);
  if (s.has_heads) ok = ok && (run.tp_size <= in.shape.heads);
  return ok;
}

template <class T, class Source>
void serve_numbers(const ScenarioState& s, const ScenarioInputs<T>& in, const Source& source, ScenarioResults<T>& out) {
  const auto& run = in.run;
  const T devices = run.tp_size * run.pp_size * run.ep_size;
  out.replicas = run.accelerators / devices;
  out.plan_fits = select(divided(s, in, out.replicas) && (run.cached_prefix_len < run.seq_len), T{1.0}, T{0.0});
  ServingViews<T> v;
  v.prefill = {s.prefill, in.shape, s.layers};
  v.decode = {s.decode, in.shape, s.layers};
  v.prefill_device = v.decode_device = in.device;
  v.links = in.links;
  v.plan = in.plan;
  v.plan.tp = run.tp_size;
  v.plan.pp = run.pp_size;
  v.plan.ep = run.ep_size;
  const auto shared = share_batch(run.batch_size, out.replicas);
  v.plan.batch = shared.sequences;
  v.prompt = run.seq_len;
  v.cached = run.cached_prefix_len;
  v.chunk = s.chunks > 1 ? T{s.chunk} : run.seq_len;
  v.chunks = s.chunks;
  const T generated = s.generates ? run.output_tokens : T{1.0};
  v.decode_context = s.generates ? run.seq_len + (run.output_tokens + 1.0) / 2.0 : run.seq_len;
  v.final_context = s.generates ? run.seq_len + run.output_tokens : run.seq_len;
  const auto a = serving_core(v, source);
  add_memory(a.memory, out);
  out.ttft = a.ttft;
  out.itl = a.itl;
  out.request_latency = a.ttft + a.itl * (generated - 1.0);
  const auto batch = Tokens<T>::from_base(run.batch_size);
  out.token_throughput = s.generates ? batch * generated / out.request_latency : batch / a.itl;
  out.throughput_per_accelerator = out.token_throughput / run.accelerators;
  out.prefill_mfu = shared.filled * min(T{1.0}, a.prefill.work / (in.device.matrix_rate * a.ttft));
  out.mfu = shared.filled * min(T{1.0}, a.decode.work / (in.device.matrix_rate * a.itl));
  out.prefill_compute = a.prefill.compute_bound;
  out.prefill_memory = a.prefill.memory_bound;
  out.prefill_network = a.prefill.network;
  out.prefill_overhead = a.prefill.overhead + in.device.dispatch;
  out.decode_compute = a.decode.compute_bound;
  out.decode_memory = a.decode.memory_bound;
  out.decode_network = a.decode.network;
  out.decode_overhead = a.decode.overhead + in.device.dispatch;
  const auto busy = [](const PassCost<T>& c) { return (c.compute_bound + c.memory_bound) / c.total; };
  const Time<T> decoding = a.itl * (generated - 1.0);
  const T share = s.generates ? decoding / (a.ttft + decoding) : T{1.0};
  out.utilization = shared.working * min(T{1.0}, share * busy(a.decode) + (1.0 - share) * busy(a.prefill));
  add_macro(in, out.token_throughput, out);
}

template <class T, class Source>
void train_numbers(const ScenarioState& s, const ScenarioInputs<T>& in, const Source& source, ScenarioResults<T>& out) {
  const auto& run = in.run;
  const T dp = run.accelerators / (run.tp_size * run.pp_size * run.ep_size * run.cp_size);
  // The same layout as of DistributedModel.
  const auto shared = share_batch(run.batch_size, dp);
  const T& local = shared.sequences;
  const ModelView<T> model{s.prefill, in.shape, s.layers};
  Plan<T> plan = in.plan;
  plan.tp = run.tp_size;
  plan.pp = run.pp_size;
  plan.ep = run.ep_size;
  plan.cp = run.cp_size;
  plan.dp = dp;
  plan.virtual_stages = run.v_stages;
  plan.new_tokens = plan.context = s.sequences ? run.seq_len : T{1.0};
  const T count = s.sized       ? ceil_div(local, run.microbatch_size)
                  : s.undivided ? default_microbatches(model, plan, in.device, in.links, local, run.gradient_accumulation_steps, source)
                                : run.microbatch_count * run.gradient_accumulation_steps;
  auto fits = divided(s, in, dp) && (run.cp_size <= run.seq_len) && (run.gradient_accumulation_steps <= local);
  if (s.base.plan.shards > 0) fits = fits && whole(dp * run.ep_size * run.cp_size / in.plan.shards);
  if (s.given_count > 0) fits = fits && (count <= s.given_count * run.gradient_accumulation_steps) && (count >= s.given_count * run.gradient_accumulation_steps);
  out.plan_fits = select(fits, T{1.0}, T{0.0});
  const auto parts = divide_batch(local, count);
  plan.microbatches = parts.microbatches;
  plan.batch = parts.microbatch;
  const auto answer = training_core(model, plan, in.device, in.links, run.accelerators, run.batch_size, source);
  const auto& step = answer.step;
  add_memory(step.memory, out);
  out.step_latency = step.total;
  out.latency_compute = answer.latency_compute;
  out.latency_memory = answer.latency_memory;
  out.latency_overhead = answer.latency_overhead;
  out.latency_network = answer.exposed_communication;
  out.comm_overhead = answer.communication;
  out.host_transfer = step.host_transfer;
  out.pipeline_bubble = step.bubble;
  out.scaling_efficiency = answer.scaling_efficiency;
  out.utilization = answer.utilization * shared.working;
  out.mfu = answer.mfu;
  out.hfu = answer.hfu;
  out.dp_size = dp;
  out.microbatch_count = plan.microbatches;
  out.fleet_throughput = Samples<T>::from_base(run.batch_size) / step.total;
  out.token_throughput = Tokens<T>::from_base(run.batch_size * run.seq_len) / step.total;
  out.training_time = Tokens<T>::from_base(T{s.training_tokens}) / out.token_throughput;
  add_macro(in, out.token_throughput, out);
}

template <class T, class Source>
void infer_numbers(const ScenarioState& s, const ScenarioInputs<T>& in, const Source& source, ScenarioResults<T>& out) {
  const auto& run = in.run;
  out.plan_fits = select(full_nodes(s, run.accelerators), T{1.0}, T{0.0});
  Plan<T> plan = in.plan;
  const auto shared = share_batch(run.batch_size, run.accelerators);
  plan.batch = shared.sequences;
  plan.context = s.sequences ? run.seq_len : T{1.0};
  plan.new_tokens = s.prefill.phase == Phase::decode ? T{1.0} : plan.context;
  const ModelView<T> model{s.prefill, in.shape, s.layers};
  const PassParts<T>& parts = source.pass(model, plan, in.device, in.links);
  PassTime<T> pass = overlapped_pass(parts, model, plan, in.device);
  pass.memory = pass_memory(parts, model, plan, in.device);
  add_memory(pass.memory, out);
  const Time<T> extra = spill_time(pass.memory, pass.cost.traffic, pass.total, in.device);
  out.latency = pass.total + extra;
  out.latency_compute = pass.cost.compute_bound;
  out.latency_memory = pass.cost.memory_bound + extra;
  out.latency_network = pass.cost.network;
  out.latency_overhead = pass.cost.overhead + in.device.dispatch;
  out.arithmetic_intensity = pass.cost.work / pass.cost.traffic;
  out.throughput = Samples<T>::from_base(run.batch_size) / out.latency;
  out.mfu = shared.filled * min(T{1.0}, pass.cost.work / (in.device.matrix_rate * out.latency));
  const T busy = min(T{1.0}, (pass.cost.compute_bound + pass.cost.memory_bound) / out.latency);
  out.utilization = busy * shared.working;
  out.energy_per_batch = apply<EnergyProportional, T>({.tdp = in.device.tdp, .utilization = busy, .time = out.latency,
                                                       .idle_fraction = in.device.idle_fraction}).energy;
  add_macro(in, TokenRate<T>::from_base(T{1.0}), out);
}

/// The results of one point, or of one point in each lane.
template <class T, class Source>
void scenario_numbers(const ScenarioState& s, const ScenarioInputs<T>& in, const Source& source, ScenarioResults<T>& out) {
  switch (s.mode) {
    case Mode::serve: serve_numbers(s, in, source, out); break;
    case Mode::train: train_numbers(s, in, source, out); break;
    case Mode::infer: infer_numbers(s, in, source, out); break;
  }
}

/// The numbers of a table struct as an array, to be reached by position.
template <class T, class S>
[[nodiscard]] T* flat(S& s) {
  static_assert(sizeof(S) % sizeof(T) == 0);
  return reinterpret_cast<T*>(&s);
}
template <class T, class S>
[[nodiscard]] const T* flat(const S& s) {
  static_assert(sizeof(S) % sizeof(T) == 0);
  return reinterpret_cast<const T*>(&s);
}

/// One point of the entry; `source_of(inputs)` makes the source of its parts.
template <class T, class SourceOf>
void scenario_call(const ScenarioState& s, const T* in, T* out, SourceOf&& source_of) {
  static_assert(sizeof(ScenarioInputs<T>) == kScenarioInputs * sizeof(T) && sizeof(ScenarioResults<T>) == kScenarioResults * sizeof(T),
                "inputs and results of a scenario are numbers and quantities only, so that they are reached by position");
  ScenarioInputs<T> numbers;
  T* const to = flat<T>(numbers);
  const double* const base = flat<double>(s.base);
  for (std::size_t i = 0; i < kScenarioInputs; ++i) to[i] = T{base[i]};
  for (std::size_t i = 0; i < s.inputs.size(); ++i) to[s.inputs[i]] = in[i];
  ScenarioResults<T> results;
  scenario_numbers(s, numbers, source_of(numbers), results);
  const T* const found = flat<T>(results);
  for (std::size_t i = 0; i < s.results.size(); ++i) out[i] = found[s.results[i]];
}
/// The same, lowered and priced afresh.
template <class T>
void scenario_call(const void* self, const T* in, T* out) {
  OpList<T> ops;
  scenario_call(*static_cast<const ScenarioState*>(self), in, out, [&](const auto&) { return FreshParts<T>{ops}; });
}

// One file each, because each is seconds of compilation.
void scenario_double(const void* self, const double* in, double* out);
void scenario_batch(const void* self, const double* const* in, double* const* out, std::size_t points);
void scenario_dual(const void* self, const Dual<8>* in, Dual<8>* out);
void scenario_interval(const void* self, const Interval* in, Interval* out);

}  // namespace mlsysim::detail
