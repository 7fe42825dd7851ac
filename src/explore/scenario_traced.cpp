// Derivations of a scenario: its law with every operation recorded, and what a scorecard without such a law hands in.

#include "detail/scenario_card.hpp"
#include "detail/scenario_core.hpp"

#include <mlsysim/tape/trace.hpp>

#include <cmath>

namespace mlsysim::detail {
namespace {

constexpr LawInfo kScenario{.id = "Scenario",
                            .equation = "scorecard = f(scenario, device, network, facility, model)",
                            .source = ""};
constexpr LawShape kShape{&kScenario, &describe<ScenarioInputs<>>, &describe<ScenarioResults<>>};

constexpr auto kIn = static_cast<std::uint16_t>(kScenarioInputs);
constexpr auto kOut = static_cast<std::uint16_t>(kScenarioResults);

/// The scenario as an opened call: inputs are known by name, and `solve` computes with them.
template <class Solve>
void record_scenario(const ScenarioInputs<Traced>& given, ScenarioResults<Traced>& results, Solve&& solve) {
  Trace* const trace = current_trace;
  ScenarioInputs<Traced> in = given;
  if (trace == nullptr) return solve(in);
  const std::uint32_t at = trace->begin<kIn, kOut>(&kShape, flat<Traced>(given));
  const RunningCall running(*trace, at, true);
  Traced* const leaves = flat<Traced>(in);
  for (std::uint32_t i = 0; i < kScenarioInputs; ++i)
    leaves[i] = Traced(leaves[i].value, trace->add_leaf(TraceOp::input, leaves[i].value, at + 1 + i));
  solve(in);
  trace->end<kIn, kOut>(at, flat<Traced>(results));
}

/// The inputs of the law at this point, the others at their base.
ScenarioInputs<Traced> numbers_at(const ScenarioState& s, const Traced* in) {
  ScenarioInputs<Traced> numbers;
  Traced* const to = flat<Traced>(numbers);
  const double* const base = flat<double>(s.base);
  for (std::size_t i = 0; i < kScenarioInputs; ++i) to[i] = Traced(base[i]);
  for (std::size_t i = 0; i < s.inputs.size(); ++i) to[s.inputs[i]] = in[i];
  return numbers;
}

/// A number that no law made, under a name. The name lives as long as the program.
template <class Q>
Q handed_in(std::string_view name, const Q& x) {
  if constexpr (std::is_same_v<Q, Traced>) {
    if (current_trace == nullptr) return x;
    const Traced leaf(x.value, current_trace->add_leaf(TraceOp::input, x.value, 0));
    return named(name, leaf);
  } else {
    return Q::from_base(handed_in(name, x.base()));
  }
}

void textbook_serving(const TextbookServingViews<>& views, const ScenarioState& s, const ScenarioInputs<Traced>& in,
                      ScenarioResults<Traced>& out) {
  auto v = lift_view<Traced>(views);
  v.active_params = handed_in("active_params", v.active_params);
  v.weights = handed_in("weights", v.weights);
  v.kv_cache = handed_in("kv_cache", v.kv_cache);
  v.peak = handed_in("peak", v.peak);
  v.bandwidth = handed_in("bandwidth", v.bandwidth);
  v.dispatch = handed_in("dispatch", v.dispatch);
  v.layer_overhead = handed_in("layer_overhead", v.layer_overhead);
  v.efficiency = handed_in("efficiency", v.efficiency);
  v.devices = handed_in("devices", v.devices);
  v.batch = handed_in("batch", v.batch);
  v.layers = handed_in("layers", v.layers);
  v.width = handed_in("width", v.width);
  v.prompt = handed_in("prompt", v.prompt);
  v.cached = handed_in("cached", v.cached);
  const auto a = textbook_serving_core(v);
  out.ttft = a.ttft;
  out.itl = a.itl;
  const Traced generated = s.generates ? in.run.output_tokens : Traced{1.0};
  out.request_latency = a.ttft + a.itl * (generated - 1.0);
  // The batch is that of all replicas, as in serve_numbers.
  const auto batch = Tokens<Traced>::from_base(in.run.batch_size);
  out.token_throughput = s.generates ? batch * generated / out.request_latency : batch / a.itl;
  out.throughput_per_accelerator = out.token_throughput / in.run.accelerators;
}

void textbook_training(const TextbookStepViews<>& views, const ScenarioInputs<Traced>& in, ScenarioResults<Traced>& out) {
  auto v = lift_view<Traced>(views);
  v.work = handed_in("work", v.work);
  v.weights = handed_in("weights", v.weights);
  v.gradients = handed_in("gradients", v.gradients);
  v.activation = handed_in("activation", v.activation);
  v.peak = handed_in("peak", v.peak);
  v.bandwidth = handed_in("bandwidth", v.bandwidth);
  v.dispatch = handed_in("dispatch", v.dispatch);
  v.layer_overhead = handed_in("layer_overhead", v.layer_overhead);
  v.efficiency = handed_in("efficiency", v.efficiency);
  v.activation_share = handed_in("activation_share", v.activation_share);
  v.layers = handed_in("layers", v.layers);
  v.moe_layers = handed_in("moe_layers", v.moe_layers);
  v.top_k = handed_in("top_k", v.top_k);
  v.tp = handed_in("tp", v.tp);
  v.pp = handed_in("pp", v.pp);
  v.dp = handed_in("dp", v.dp);
  v.ep = handed_in("ep", v.ep);
  v.microbatches = handed_in("microbatches", v.microbatches);
  v.virtual_stages = handed_in("virtual_stages", v.virtual_stages);
  v.local_batch = handed_in("local_batch", v.local_batch);
  v.overlap = handed_in("overlap", v.overlap);
  v.congestion = handed_in("congestion", v.congestion);
  v.straggler = handed_in("straggler", v.straggler);
  const auto step = textbook_step_core(v);
  out.step_latency = step.total;
  out.latency_compute = step.compute;
  out.latency_memory = step.memory;
  out.latency_overhead = step.overhead;
  out.comm_overhead = step.data_parallel + step.tensor_parallel + step.expert_parallel;
  out.pipeline_bubble = step.bubble;
  out.fleet_throughput = Samples<Traced>::from_base(in.run.batch_size) / step.total;
  out.token_throughput = Tokens<Traced>::from_base(in.run.batch_size * in.run.seq_len) / step.total;
}

}  // namespace

void scenario_traced(const void* self, const Traced* in, Traced* out) {
  const auto& s = *static_cast<const ScenarioState*>(self);
  const auto given = numbers_at(s, in);
  ScenarioResults<Traced> results;
  OpList<Traced> ops;
  record_scenario(given, results, [&](const ScenarioInputs<Traced>& numbers) { scenario_numbers(s, numbers, FreshParts<Traced>{ops}, results); });
  for (std::size_t i = 0; i < s.results.size(); ++i) out[i] = flat<Traced>(results)[s.results[i]];
}

void scorecard_traced(const ScorecardState& c, const double* card, Traced* out) {
  const auto& s = c.books;
  const auto given = numbers_at(s, nullptr);
  ScenarioResults<Traced> results;
  record_scenario(given, results, [&](const ScenarioInputs<Traced>& in) {
    ScenarioResults<Traced> known;
    const auto fields = describe<ScenarioResults<>>();
    for (std::size_t i = 0; i < c.positions.size(); ++i)
      flat<Traced>(known)[c.positions[i]] = handed_in(fields[c.positions[i]].name, Traced(card[i]));
    if (c.load > 0) known.utilization = handed_in("utilization", Traced(c.load));
    results = known;
    if (c.serving) textbook_serving(*c.serving, s, in, results);
    if (c.step) textbook_training(*c.step, in, results);
    if (s.has_power) add_macro(in, s.mode == Mode::infer ? TokenRate<Traced>::from_base(1.0) : results.token_throughput, results);
    // What the scorecard computes in another way is handed in as it stands.
    for (std::size_t i = 0; i < c.positions.size(); ++i) {
      auto& found = flat<Traced>(results)[c.positions[i]];
      const double is = card[i];
      if (std::isfinite(is) && !(std::abs(found.value - is) <= 1e-9 * std::abs(is))) found = flat<Traced>(known)[c.positions[i]];
    }
  });
  for (std::size_t i = 0; i < c.positions.size(); ++i) out[i] = flat<Traced>(results)[c.positions[i]];
}

}  // namespace mlsysim::detail
