#include "detail/also.hpp"
#include "detail/plan_table.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/resolvers/defaults.hpp>

#include <mlsysim/engine/detail/finite.hpp>
#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/requests.hpp>
#include <mlsysim/estimate/detail/bottleneck.hpp>
#include <mlsysim/resolvers/detail/pass_times.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>

#include <mlsysim/lowering/sharding.hpp>
#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/specs/provenance.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace mlsysim {
namespace {

using LevelStatus = EvaluationLevel::Status;

template <class D> Metric metric(SharedText name, const Quantity<D>& q, SharedText unit, SharedText meaning) {
  return {std::move(name), q.base(), D::exps, std::move(unit), std::move(meaning)};
}
Metric metric(SharedText name, double x, SharedText meaning) {
  return {std::move(name), x, {}, "", std::move(meaning)};
}
Metric metric(SharedText name, std::string_view words, SharedText meaning) {
  return {std::move(name), std::string(words), {}, "", std::move(meaning)};
}
/// A list of metrics, with room for the few that come only sometimes; an initializer list would copy each.
template <class... M> std::vector<Metric> listed(M... metrics) {
  std::vector<Metric> out;
  out.reserve(sizeof...(M) + 3);
  (out.push_back(std::move(metrics)), ...);
  return out;
}

std::string shown(const AnyQuantity& q) { return pretty(q, 3); }
/// Numbers of a sentence that is written later.
template <class Q> std::string shown(const LazyText::Parts& parts, std::size_t i) {
  return shown(Q::from_base(parts.numbers[i]));
}

std::vector<Metric> memory_parts(const MemoryBreakdown<>& m) {
  std::vector<Metric> parts;
  parts.reserve(8);
  for_each_field<MemoryBreakdown<>>([&](const auto& row) {
    if (row.name == "total" || row.name == "capacity") return;
    if (m.*(row.member) > Data<>())
      parts.push_back(
          metric(SharedText::lasting(row.name), m.*(row.member), "GB", SharedText::lasting(row.meaning)));
  });
  std::stable_sort(parts.begin(), parts.end(), [](const Metric& a, const Metric& b) {
    return std::get<double>(a.value) > std::get<double>(b.value);
  });
  return parts;
}

void fill_feasibility(SystemEvaluation& out, const MemoryBreakdown<>& m, const ResolvedScenario& r) {
  auto& level = out.feasibility;
  level.level_name = "feasibility";
  const bool fits = m.total <= m.capacity;
  level.status = fits ? LevelStatus::pass : LevelStatus::fail;
  level.metrics = listed(metric("memory_used", m.total, "GB", "memory of the fullest device"),
                         metric("memory_capacity", m.capacity, "GB", "memory of one device"),
                         metric("memory_utilization", m.total / m.capacity, "used over capacity"));
  if (!fits)
    level.metrics.push_back(metric("memory_shortfall", m.total - m.capacity, "GB", "bytes that do not fit"));
  out.memory = memory_parts(m);
  if (fits) {
    level.summary = {[](const LazyText::Parts& p) {
                       return fmt::format("fits: {} of {} on each {}", shown<Data<>>(p, 0),
                                          shown<Data<>>(p, 1), p.words[0].view());
                     },
                     {{m.total.base(), m.capacity.base()}, {r.hardware().name}}};
    return;
  }
  level.summary = {[](const LazyText::Parts& p) {
                     return fmt::format("does not fit: needs {} of {} on each {}, {} too much",
                                        shown<Data<>>(p, 0), shown<Data<>>(p, 1), p.words[0].view(),
                                        shown<Data<>>(p, 2));
                   },
                   {{m.total.base(), m.capacity.base(), (m.total - m.capacity).base()}, {r.hardware().name}}};
  out.remedies = detail::remedies_for(r);
}

/// A problem with all of its model and its states on devices.
template <class Problem> [[nodiscard]] Problem without_host(Problem problem) {
  const auto here = [](Structure& s) { s.offloads = s.host_computes = false; };
  here(problem.model.structure);
  if constexpr (requires { problem.decode; }) here(problem.decode);
  auto& p = problem.plan;
  p.offload_weights = p.offload_activations = p.offload_states = p.offload_gradients = p.offload_experts = 0;
  return problem;
}

/// Adds the host memory that a node uses, and fails the level where that exceeds a stated capacity. Offloaded
/// gradients count in the format of the optimizer that updates on the host.
template <class Problem, class Estimate>
void fill_host_memory(SystemEvaluation& out, const ResolvedScenario& r, const Problem& problem,
                      const Estimate& n, Notes& notes) {
  if (!problem.model.structure.offloads) return;
  const auto whole = evaluate(without_host(problem)).memory;
  const auto gone = [](Data<> before, Data<> after) { return max(before - after, Data<>()); };
  const auto& m = n.memory;
  const DataPerParam<> own = problem.plan.gradient_bytes,
                       held = detail::kHostGradient * (unit::B / unit::param);
  Data<> bytes = gone(whole.weights, m.weights) + gone(whole.kv_cache, m.kv_cache) +
                 gone(whole.optimizer_states, m.optimizer_states);
  if (problem.plan.offload_gradients > 0)
    bytes += gone(whole.gradients, m.gradients) * (held.base() / own.base());
  if (problem.plan.offload_activations > 0) bytes += gone(whole.activations, m.activations);
  const Scenario& s = r.asked();
  const Node& node = *r.fleet().node;
  bytes = bytes * std::min(node.accelerators_per_node, r.accelerators());
  auto& level = out.feasibility;
  level.metrics.push_back(metric("host_memory_used", bytes, "GB", "memory of the host of a node"));
  const auto room = s.host_memory ? s.host_memory : s.fleet != nullptr ? node.host_memory : std::nullopt;
  if (!room) return notes.assume("host_memory", "enough", "neither the node nor the question states it");
  level.metrics.push_back(metric("host_memory_capacity", *room, "GB", "memory that the host of a node has"));
  if (bytes <= *room || level.status == LevelStatus::fail) return;
  level.status = LevelStatus::fail;
  level.summary = {[](const LazyText::Parts& p) {
                     return fmt::format("does not fit: the host of a node needs {} of {}",
                                        shown<Data<>>(p, 0), shown<Data<>>(p, 1));
                   },
                   {{bytes.base(), room->base()}, {}}};
}

/// The metric of a number that a table of results has, under its own name or another.
template <class Numbers>
Metric metric_of(const Numbers& numbers, std::string_view name, std::string_view as = {}) {
  static const auto* fields = new std::vector<std::pair<std::string, FieldInfo>>([] {
    std::vector<std::pair<std::string, FieldInfo>> out;
    for (const auto& f : describe<Numbers>()) out.emplace_back(f.name, f);
    return out;
  }());
  for (const auto& [known, f] : *fields) {
    if (known != name) continue;
    double value;
    std::memcpy(&value, reinterpret_cast<const char*>(&numbers) + f.offset, sizeof value);
    return {SharedText::lasting(as.empty() ? std::string_view(known) : as), value, f.exps,
            SharedText::lasting(f.unit), SharedText::lasting(f.meaning)};
  }
  assert(false && "a metric is a row of the results");
  return {};
}
template <class Numbers>
void add_metrics(EvaluationLevel& level, const Numbers& numbers,
                 std::initializer_list<std::string_view> names) {
  if (level.metrics.empty()) level.metrics.reserve(16);  // more than a level has
  for (const auto name : names) level.metrics.push_back(metric_of(numbers, name));
}

/// Cost, energy and carbon of running at this load for the period.
/// @param per_token whether there are tokens to divide them by
void fill_macro(SystemEvaluation& out, const ResolvedScenario& r, const MacroProblem<>& p,
                const MacroEstimate<>& n, bool per_token) {
  auto& level = out.macro;
  level.level_name = "macro";
  if (!p.has_power) {
    level.status = LevelStatus::skipped;
    level.summary =
        fmt::format("no TDP is known for {}, so cost and carbon cannot be computed", r.hardware().name);
    return;
  }
  if (p.has_price) add_metrics(level, n, {"tco"});
  if (p.has_price && !p.rented) add_metrics(level, n, {"capex"});
  if (!p.rented) add_metrics(level, n, {"energy_cost"});
  if (p.has_price && !p.rented) add_metrics(level, n, {"maintenance"});
  if (p.has_price && n.run_cost > Money<>()) add_metrics(level, n, {"run_cost"});
  if (n.run_energy > Energy<>()) add_metrics(level, n, {"run_energy"});
  add_metrics(level, n, {"energy", "carbon_footprint", "water"});
  level.metrics.push_back(metric("pue", p.facility.pue, "facility energy over IT energy"));
  level.metrics.push_back(metric("region", p.region, "grid that was charged"));
  level.metrics.push_back(metric("duration_days", r.asked().duration_days, "period"));
  if (per_token) {
    if (p.has_price) add_metrics(level, n, {"cost_per_token"});
    add_metrics(level, n, {"energy_per_token", "carbon_per_token"});
  }
  if (p.has_price)
    level.summary = {[](const LazyText::Parts& x) {
                       return fmt::format("{} and {} in {} days", shown<Money<>>(x, 0), shown<Carbon<>>(x, 1),
                                          x.numbers[2]);
                     },
                     {{n.tco.base(), n.carbon_footprint.base(), r.asked().duration_days}, {}}};
  else
    level.summary = {[](const LazyText::Parts& x) {
                       return fmt::format("at least {} (the price of {} is not known) and {} in {} days",
                                          shown<Money<>>(x, 0), x.words[0].view(), shown<Carbon<>>(x, 1),
                                          x.numbers[2]);
                     },
                     {{n.energy_cost.base(), n.carbon_footprint.base(), r.asked().duration_days},
                      {SharedText(r.hardware().name)}}};
}

/// "tp 4 x ep 2"
std::string degree_words(const Plan<>& p) {
  std::string out = fmt::format("tp {:g}", p.tp);
  if (p.pp > 1) out += fmt::format(" x pp {:g}", p.pp);
  if (p.ep > 1) out += fmt::format(" x ep {:g}", p.ep);
  return out;
}

/// The load of a served model, in words, and its pools.
std::string load_words(const ServingProblem<>& p) {
  if (p.prefill.apart) {
    ServingProblem<> whole = p;
    whole.prefill.apart = false;
    return fmt::format("{}, prefill {:g} x ({}) + decode {:g} x ({})", load_words(whole), p.prefill.workers,
                       degree_words(p.worker_plan()), p.replicas(), degree_words(p.plan));
  }
  switch (p.load) {
    case Load::concurrency:
      return fmt::format("{:g} in flight", p.batch_size);
    case Load::rate:
      return pretty(AnyQuantity(p.arrival_rate), 3);
    case Load::burst:
      break;
  }
  return fmt::format("{:g} at once", p.batch_size);
}

/// Devices in replicas of this plan that keep up with the arrivals.
double devices_that_serve(const ServingProblem<>& p, const ServingEstimate<>& a) {
  return std::ceil(p.arrival_rate / a.steady.capacity * a.replicas) * (p.devices() / a.replicas);
}

/// Adds what a steady state has beside the numbers of a static batch, and says whether the replicas keep up.
void fill_steady(EvaluationLevel& level, const ServingProblem<>& p, const ServingEstimate<>& a,
                 Notes& notes) {
  const auto& s = a.steady;
  add_metrics(level, s, {"p50_ttft", "p90_ttft", "p95_ttft", "p99_request_latency", "request_throughput"});
  if (p.load == Load::rate) add_metrics(level, s, {"capacity"});
  add_metrics(level, s, {"running_requests", "max_active_requests"});
  if (s.waiting_requests >= 0.5) {
    add_metrics(level, s, {"waiting_requests"});
    notes.remark([&] {
      return fmt::format("{:g} of the requests in flight wait for a slot: {:g} fit on a replica",
                         std::round(s.waiting_requests), s.max_active_requests);
    });
  }
  if (s.max_active_requests < 1)
    notes.warn("no request fits beside the weights: times are those of one, as if it did",
               BreakReason::infeasible_memory);
  if (s.overload <= RequestRate<>()) return;
  add_metrics(level, s, {"overload"});
  level.status = LevelStatus::fail;
  notes.warn(
      [&] {
        return fmt::format(
            "{} arrive and {} can be served: figures are those of full replicas, and the line grows for "
            "ever; {} "
            "devices of this plan would keep up",
            pretty(AnyQuantity(p.arrival_rate), 3), pretty(AnyQuantity(s.capacity), 3),
            devices_that_serve(p, a));
      },
      BreakReason::infeasible_constraint);
}

void fill(SystemEvaluation& out, const ResolvedScenario& r, const ServingProblem<>& problem, Notes& notes) {
  const auto a = evaluate(problem);
  fill_feasibility(out, fullest_device(a), r);
  fill_host_memory(out, r, problem, a, notes);
  out.load = load_words(problem);
  out.lengths = length_words(r.asked(), problem.load);
  auto& p = out.performance;
  add_metrics(p, a, {"ttft"});
  if (problem.load != Load::burst) add_metrics(p, a.steady, {"p99_ttft"});
  for_each_row(first_token_rows<ServingEstimate<>>(), [&](const auto& term) {
    if (a.*(term.member) > a.ttft * 1e-6) add_metrics(p, a, {term.name});
  });
  add_metrics(p, a, {"itl"});
  if (problem.load != Load::burst) add_metrics(p, a.steady, {"p99_itl"});
  add_metrics(p, a, {"request_latency", "token_throughput", "throughput_per_accelerator"});
  const Bottleneck prefill = prefill_limit(a), decode = decode_limit(a);
  p.metrics.push_back(metric("prefill_bottleneck", name_of(prefill), "what limits the prefill"));
  p.metrics.push_back(metric("bottleneck", name_of(decode), "what limits decoding"));
  add_metrics(p, a, {"prefill_mfu", "mfu", "kv_cache_size", "replicas"});
  // One device has no collectives: what it waits for is the host.
  const bool alone =
      problem.model.structure.offloads && problem.plan.tp * problem.plan.pp * problem.plan.ep == 1;
  const auto words = [&](Bottleneck limit) {
    return alone && limit == Bottleneck::network ? SharedText("the host or its link")
                                                 : SharedText(limit_words(limit));
  };
  if (problem.load == Load::burst) {
    // Formulas from totals answer about a step alone unless they are asked for more.
    if (!problem.generates && problem.fidelity_model->lists_operators())
      notes.remark(
          "a burst without output_tokens has no answers: request_latency is the time to the first token, and "
          "rates and costs are those of decode steps, without their prompts");
    p.summary = {[](const LazyText::Parts& x) {
                   return fmt::format(
                       "last first token of the burst after {}, then one every {}; prefill limited by {}, "
                       "decode by {}",
                       shown<Time<>>(x, 0), shown<Time<>>(x, 1), x.words[0].view(), x.words[1].view());
                 },
                 {{a.ttft.base(), a.itl.base()}, {words(prefill), words(decode)}}};
  } else {
    fill_steady(p, problem, a, notes);
    p.summary = {
        [](const LazyText::Parts& x) {
          return fmt::format(
              "first token after {} (99 %: {}), then one every {}; prefill limited by {}, decode by {}",
              shown<Time<>>(x, 0), shown<Time<>>(x, 1), shown<Time<>>(x, 2), x.words[0].view(),
              x.words[1].view());
        },
        {{a.ttft.base(), a.steady.p99_ttft.base(), a.itl.base()}, {words(prefill), words(decode)}}};
    if (a.steady.overload > RequestRate<>())
      p.summary = fmt::format(
          "{} arrive and {} can be served; {:g} devices of this plan keep up, and mlsysim size finds a plan; "
          "of those that are served: {}",
          pretty(AnyQuantity(problem.arrival_rate), 3), pretty(AnyQuantity(a.steady.capacity), 3),
          devices_that_serve(problem, a), p.summary.str());
  }
  fill_macro(out, r, problem.macro, a.macro, true);
}

void fill(SystemEvaluation& out, const ResolvedScenario& r, const TrainingProblem<>& problem, Notes& notes) {
  const auto a = evaluate(problem);
  warn_of_microbatches(detail::train_request(r), problem, a, notes);
  fill_feasibility(out, a.memory, r);
  fill_host_memory(out, r, problem, a, notes);
  auto& p = out.performance;
  add_metrics(p, a,
              {"step_latency", "latency_compute", "latency_memory", "communication_latency",
               "pipeline_bubble_latency", "effective_throughput", "mfu", "hfu", "scaling_efficiency"});
  const Bottleneck limit = step_limit(a);
  p.metrics.push_back(metric("bottleneck", name_of(limit), "what limits the step"));
  add_metrics(p, a, {"dp_size", "microbatch_count"});
  if (a.host_transfer_latency > Time<>()) add_metrics(p, a, {"host_transfer_latency"});
  if (r.asked().workload->hidden()) {
    add_metrics(p, a, {"token_throughput"});
    if (problem.has_tokens) {
      p.metrics.push_back(metric("training_tokens", Tokens<>::from_base(problem.training_tokens), "Ttoken",
                                 "tokens of the run"));
      p.metrics.push_back(metric_of(a, "training_time"));
    }
  }
  add_metrics(p, a.reliability, {"fleet_mtbf", "goodput_ratio"});
  // The host link names the limit where it takes over half of all communication, before overlap.
  const bool host = limit == Bottleneck::network && 2.0 * a.host_transfer_latency > a.communication_latency;
  p.summary = {[](const LazyText::Parts& x) {
                 return fmt::format("a step takes {} at {:.1f} % MFU; limited by {}", shown<Time<>>(x, 0),
                                    100 * x.numbers[1], x.words[0].view());
               },
               {{a.step_latency.base(), a.mfu},
                {host ? SharedText("the link to host memory") : SharedText(limit_words(limit))}}};
  fill_macro(out, r, problem.macro, a.macro, r.asked().workload->hidden().has_value());
}

LazyText batch_summary(Time<> latency, Bottleneck limit) {
  return {[](const LazyText::Parts& x) {
            return fmt::format("a batch takes {}; limited by {}", shown<Time<>>(x, 0), x.words[0].view());
          },
          {{latency.base()}, {SharedText(limit_words(limit))}}};
}

void fill(SystemEvaluation& out, const ResolvedScenario& r, const InferenceProblem<>& problem, Notes&) {
  const auto a = evaluate(problem);
  fill_feasibility(out, a.memory, r);
  auto& p = out.performance;
  add_metrics(p, a,
              {"latency", "latency_compute", "latency_memory", "latency_overhead", "throughput", "mfu",
               "arithmetic_intensity"});
  if (problem.macro.has_power) p.metrics.push_back(metric_of(a.macro, "energy_per_batch", "energy"));
  const Bottleneck limit = inference_limit(a);
  p.metrics.push_back(metric("bottleneck", name_of(limit), "what limits the batch"));
  p.summary = batch_summary(a.latency, limit);
  fill_macro(out, r, problem.macro, a.macro, false);
}

/// A pass that InferencePassModel answers: the steps of a diffusion model, a recurrent state, lookups in
/// tables.
void whole_pass(SystemEvaluation& out, const ResolvedScenario& r, Notes& notes) {
  const auto request = detail::pass_request(r);
  const auto a = InferencePassModel{}.solve(request, notes);
  out.fidelity = name_of(a.fidelity);
  fill_feasibility(out, detail::pass_memory(r, a), r);
  const auto share = r.share();
  auto& p = out.performance;
  p.metrics = listed(metric("latency", a.latency, "ms", "time of one batch"),
                     metric("latency_compute", a.latency_compute, "ms", "arithmetic"),
                     metric("latency_memory", a.latency_memory, "ms", "memory traffic"),
                     metric("latency_overhead", a.latency_overhead, "ms", "launches and dispatch"),
                     metric("throughput", r.asked().batch_size * unit::sample / a.latency, "sample/s",
                            "samples of all devices"),
                     metric("mfu", share.filled * a.peak_share, "model FLOPs utilization"),
                     metric("evaluations", a.evaluations, "runs of the network for one batch"));
  if (a.energy) p.metrics.push_back(metric("energy", *a.energy, "J", "energy of one batch on one device"));
  p.metrics.push_back(metric("bottleneck", name_of(a.bottleneck), "what limits the batch"));
  p.summary = batch_summary(a.latency, a.bottleneck);
  MacroLoad<> load;
  const auto charged = settle_macro(r, fidelity_model_of(a.fidelity).lists_operators(), load, notes);
  MacroEstimate<> macro;
  load.utilization = a.load * share.working;
  if (charged.has_power) macro = macro_estimate(charged, load);
  fill_macro(out, r, charged, macro, false);
}

/// The software of a scenario: the one named, or how kernels are launched where none is.
std::string runtime_of(const ResolvedScenario& r) {
  const Scenario& s = r.asked();
  Notes quiet;
  if (s.engine != nullptr)
    return s.execution ? fmt::format("{}, {}", s.engine->name, name_of(*s.execution)) : s.engine->name;
  if (r.load() != Load::burst && fidelity_model_for(s.fidelity, *s.workload, quiet).prices_engines())
    return fmt::format("{} engine", usual_engine(r.hardware()).name);
  const bool eager = s.execution ? *s.execution == Execution::eager : r.mode() == Mode::train;
  return eager ? "fused kernels, launched one by one" : "fused kernels in a captured graph";
}

/// The scorecard of a scenario whose numbers follow from one problem.
void answer(SystemEvaluation& out, const ResolvedScenario& r, Notes& notes) {
  const AnyProblem problem = settle(r, notes);
  std::visit(
      [&](const auto& p) {
        out.fidelity = name_of(p.fidelity_model->fidelity());
        if (p.fidelity_model->lists_operators()) out.runtime = runtime_of(r);
        fill(out, r, p, notes);
      },
      problem);
}

/// One field that may have been left at its default, and how that is noted.
struct DefaultRow {
  const FieldInfo* field;
  bool draft;  ///< speaks of the draft model
  Assumption noted;

  [[nodiscard]] bool kept_by(const Scenario& s) const {
    static const Scenario usual{};
    const auto* given = reinterpret_cast<const std::byte*>(&s) + field->offset;
    const auto* normal = reinterpret_cast<const std::byte*>(&usual) + field->offset;
    if (field->size == sizeof(double) && field->kind != ValueKind::text)
      return *reinterpret_cast<const double*>(given) == *reinterpret_cast<const double*>(normal);
    if (field->kind == ValueKind::flag || field->kind == ValueKind::choice)
      return std::memcmp(given, normal, field->size) == 0;
    return field->read(&s) == field->default_value;
  }
};

/// The rows of a mode, made once: their texts outlive every scorecard.
std::vector<DefaultRow> default_rows(Mode mode) {
  std::vector<DefaultRow> rows;
  for (const auto& f : describe<Scenario>()) {
    const auto& place = detail::plan_place(f.name);
    if (f.kind == ValueKind::object || f.nullable || f.name == "name" || !place.used_in(mode)) continue;
    AssumedValue value;
    if (const auto* x = std::get_if<double>(&f.default_value))
      value = AssumedValue::exact(*x);
    else if (const auto* b = std::get_if<bool>(&f.default_value))
      value = *b ? AssumedValue("true") : AssumedValue("false");
    else if (const auto* t = std::get_if<std::string>(&f.default_value))
      value = *t;
    rows.push_back({&f,
                    place.draft,
                    {SharedText::lasting(f.name), std::move(value), SharedText::lasting(f.default_source)}});
  }
  return rows;
}

/// Inputs that were left at their defaults, from the table; the resolvers note what they fill in themselves.
void note_defaults(const Scenario& s, Mode mode, Notes& notes) {
  static const std::array rows{default_rows(Mode::infer), default_rows(Mode::serve),
                               default_rows(Mode::train)};
  for (const auto& row : rows[static_cast<std::size_t>(mode)])
    if (!(row.draft && s.draft_model == nullptr) && row.kept_by(s)) notes.assume(row.noted);
}

/// A number that is not finite answers nothing, so that nothing may be concluded from it.
void refuse_infinite(const SystemEvaluation& out, const Scenario& s) {
  for (const auto* list :
       {&out.feasibility.metrics, &out.memory, &out.performance.metrics, &out.macro.metrics})
    for (const auto& m : *list)
      if (const auto* x = std::get_if<double>(&m.value)) detail::check_finite(m.name.view(), *x, s);
}

}  // namespace

SystemEvaluation SystemEvaluator::evaluate(const Scenario& scenario) {
  NoteBook book;
  Notes notes(book);
  const ResolvedScenario r(scenario, notes);
  SystemEvaluation out;
  out.scenario_name = scenario.name;
  out.workload = scenario.workload->name;
  if (const Entry* entry = scenario.workload->entry) out.guess = entry->guess;
  if (!out.guess.empty()) notes.warn(fmt::format("{} is a guess: {}", out.workload, out.guess));
  out.hardware = r.fleet().name;
  out.mode = name_of(r.mode());
  out.performance.level_name = "performance";
  note_defaults(scenario, r.mode(), notes);
  if (detail::is_whole_pass(r))
    whole_pass(out, r, notes);
  else
    answer(out, r, notes);
  refuse_infinite(out, scenario);
  if (scenario.also)
    for (const auto& call : detail::calls_in(*scenario.also))
      out.further.push_back(detail::ask_also(call, r, book));
  if (out.feasibility.status == LevelStatus::fail) {
    out.performance.status = LevelStatus::fail;
    out.performance.summary =
        "not reached, because the model does not fit; as if it did: " + out.performance.summary;
    if (out.macro.status == LevelStatus::pass) {
      out.macro.status = LevelStatus::fail;
      out.macro.summary = "as if the model fitted: " + out.macro.summary;
    }
  }
  // One line for each assumption, however many resolvers made it.
  auto& noted = book.assumptions;
  auto end = noted.begin();
  NameFilter names;
  for (auto& a : noted) {
    const bool known = names.add(a.name) && std::any_of(noted.begin(), end, [&](const Assumption& b) {
                         return a.name == b.name && a.value == b.value;
                       });
    if (known) continue;
    if (&*end != &a) *end = std::move(a);
    ++end;
  }
  noted.erase(end, noted.end());
  out.assumptions = std::move(noted);
  out.warnings = std::move(book.warnings);
  if (auto words = unmeasured_words(out.assumptions, r.hardware().name); !words.empty())
    out.warnings.insert(out.warnings.begin(), std::move(words));
  return out;
}

std::string unmeasured_words(std::span<const Assumption> assumptions, std::string_view device) {
  const auto of_class = [&](std::string_view name) {
    return std::any_of(assumptions.begin(), assumptions.end(),
                       [&](const Assumption& a) { return a.name.view() == name && rests_on_class(a); });
  };
  if (!of_class("efficiency.memory") || !of_class("kernels.launch")) return {};
  return fmt::format("{} was not measured: {} of its figures are estimates of its class", device,
                     std::count_if(assumptions.begin(), assumptions.end(), rests_on_class));
}

}  // namespace mlsysim
