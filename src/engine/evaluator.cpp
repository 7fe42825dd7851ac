#include "detail/plan_table.hpp"

#include <mlsysim/engine/evaluator.hpp>

#include <mlsysim/engine/requests.hpp>

#include <mlsysim/catalogue/views.hpp>
#include <mlsysim/physics/cost.hpp>
#include <mlsysim/resolve/evaluate.hpp>
#include <mlsysim/resolve/name_list.hpp>
#include <mlsysim/resolve/record.hpp>
#include <mlsysim/resolve/registry.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace mlsysim {
namespace {

using LevelStatus = EvaluationLevel::Status;

template <class D>
Metric metric(SharedText name, const Quantity<D>& q, SharedText unit, SharedText meaning) {
  return {std::move(name), q.base(), D::exps, std::move(unit), std::move(meaning)};
}
Metric metric(SharedText name, double x, SharedText meaning) { return {std::move(name), x, {}, "", std::move(meaning)}; }
Metric metric(SharedText name, std::string_view words, SharedText meaning) {
  return {std::move(name), std::string(words), {}, "", std::move(meaning)};
}
/// A list of metrics, with room for the few that come only sometimes; an initializer list would copy each.
template <class... M>
std::vector<Metric> listed(M... metrics) {
  std::vector<Metric> out;
  out.reserve(sizeof...(M) + 3);
  (out.push_back(std::move(metrics)), ...);
  return out;
}

std::string shown(const AnyQuantity& q) { return pretty(q, 3); }
/// Numbers of a sentence that is written later.
template <class Q>
std::string shown(const LazyText::Parts& parts, std::size_t i) { return shown(Q::from_base(parts.numbers[i])); }

std::vector<Metric> memory_parts(const MemoryBreakdown<>& m) {
  std::vector<Metric> parts;
  parts.reserve(8);
  for_each_field<MemoryBreakdown<>>([&](const auto& row) {
    if (row.name == "total" || row.name == "capacity") return;
    if (m.*(row.member) > Data<>())
      parts.push_back(metric(SharedText::lasting(row.name), m.*(row.member), "GB", SharedText::lasting(row.meaning)));
  });
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Metric& a, const Metric& b) { return std::get<double>(a.value) > std::get<double>(b.value); });
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
  if (!fits) level.metrics.push_back(metric("memory_missing", m.total - m.capacity, "GB", "bytes that do not fit"));
  out.memory = memory_parts(m);
  if (fits) {
    level.summary = {[](const LazyText::Parts& p) {
                       return fmt::format("fits: {} of {} on each {}", shown<Data<>>(p, 0), shown<Data<>>(p, 1), p.words[0].view());
                     },
                     {{m.total.base(), m.capacity.base()}, {r.hardware().name}}};
    return;
  }
  level.summary = {[](const LazyText::Parts& p) {
                     return fmt::format("does not fit: needs {} of {} on each {}, {} too much", shown<Data<>>(p, 0), shown<Data<>>(p, 1),
                                        p.words[0].view(), shown<Data<>>(p, 2));
                   },
                   {{m.total.base(), m.capacity.base(), (m.total - m.capacity).base()}, {r.hardware().name}}};
  out.remedies = detail::remedies_for(r);
}

/// Cost, energy and carbon of running at this load for the period.
/// @param load  share of the maximum load, between idle power and TDP
/// @param tokens tokens per second of the fleet, for the cost of one; 0 when there are none
void fill_macro(SystemEvaluation& out, const ResolvedScenario& r, double load, TokenRate<> tokens, Notes& notes) {
  auto& level = out.macro;
  level.level_name = "macro";
  const Scenario& s = r.asked();
  if (!r.hardware().power.tdp) {
    level.status = LevelStatus::skipped;
    level.summary = fmt::format("no TDP is known for {}, so cost and carbon cannot be computed", r.hardware().name);
    return;
  }
  const auto e = EconomicsModel{}.solve({.fleet = &r.fleet(),
                                         .duration_days = s.duration_days,
                                         .kwh_price = s.kwh_price,
                                         .datacenter = s.datacenter,
                                         .grid = s.grid,
                                         .utilization = load,
                                         .unit_cost = s.unit_cost,
                                         .infrastructure_multiplier = s.infrastructure_multiplier,
                                         .conventions = s.conventions},
                                        notes);
  level.metrics = listed(metric("tco", e.tco, "USD", "total cost of the period"),
                   metric("capex", e.capex, "USD", "capital cost of the period"),
                   metric("energy_cost", e.opex_energy, "USD", "electricity"),
                   metric("maintenance", e.opex_maintenance, "USD", "maintenance"),
                   metric("energy", e.total_energy, "kWh", "energy of the facility"),
                   metric("carbon_footprint", e.carbon_footprint, "tCO2e", "operational and embodied"),
                   metric("water", e.water_usage, "L", "water used on site"),
                   metric("pue", e.pue, "facility energy over IT energy"),
                   metric("region", e.region_name, "grid that was charged"),
                   metric("duration_days", s.duration_days, "period"));
  const Time<> period = s.duration_days * unit::d;
  if (tokens > TokenRate<>()) {
    const auto cost = CostPerToken::solve<double>({.cost_rate = e.tco / period, .token_throughput = tokens});
    level.metrics.push_back(metric("cost_per_token", cost.cost_per_token, "USD/Mtoken", "all costs over all tokens, always busy"));
    level.metrics.push_back(metric("energy_per_token", e.total_energy / (tokens * period), "J/token", "energy of the facility over all tokens"));
    level.metrics.push_back(metric("carbon_per_token", e.carbon_footprint / (tokens * period), "gCO2e/Mtoken", "greenhouse gases over all tokens"));
  }
  level.summary = {[](const LazyText::Parts& p) {
                     return fmt::format("{} and {} in {} days", shown<Money<>>(p, 0), shown<Carbon<>>(p, 1), p.numbers[2]);
                   },
                   {{e.tco.base(), e.carbon_footprint.base(), s.duration_days}, {}}};
}

SharedText limit_words(Bottleneck b) {
  switch (b) {
    case Bottleneck::compute: return "arithmetic";
    case Bottleneck::memory: return "memory bandwidth";
    case Bottleneck::network: return "the network between devices";
    case Bottleneck::overhead: return "launches and dispatch";
    case Bottleneck::capacity: break;
  }
  return "memory capacity";
}

LazyText batch_summary(Time<> latency, Bottleneck limit) {
  return {[](const LazyText::Parts& x) {
            return fmt::format("a batch takes {}; limited by {}", shown<Time<>>(x, 0), x.words[0].view());
          },
          {{latency.base()}, {limit_words(limit)}}};
}

void serve(SystemEvaluation& out, const ResolvedScenario& r, Notes& notes) {
  const auto request = detail::serve_request(r);
  const auto a = ServingModel{}.solve(request, notes);
  const auto share = r.share();
  const TokenRate<> rate = a.token_throughput * (r.asked().batch_size / request.batch_size);
  out.fidelity = name_of(a.fidelity);
  fill_feasibility(out, a.memory, r);
  auto& p = out.performance;
  p.metrics = listed(metric("ttft", a.ttft, "ms", "time to first token"),
               metric("itl", a.itl, "ms", "inter-token latency"),
               metric("request_latency", a.request_latency, "ms", "from request to last token"),
               metric("token_throughput", rate, "token/s", "generated tokens of all devices"),
               metric("throughput_per_accelerator", rate / r.accelerators(), "token/s", "generated tokens of one device"),
               metric("prefill_bottleneck", name_of(a.prefill_bottleneck), "what limits the prefill"),
               metric("bottleneck", name_of(a.bottleneck), "what limits decoding"),
               metric("prefill_mfu", a.prefill_mfu * share.filled, "model FLOPs utilisation of the prefill"),
               metric("mfu", a.mfu * share.filled, "model FLOPs utilisation of decoding"),
               metric("kv_cache_size", a.kv_cache_size, "GB", "keys and values of one replica's batch"),
               metric("replicas", r.replicas(), "copies of the model"));
  p.summary = {[](const LazyText::Parts& x) {
                 return fmt::format("first token after {}, then one every {}; prefill limited by {}, decode by {}",
                                    shown<Time<>>(x, 0), shown<Time<>>(x, 1), x.words[0].view(), x.words[1].view());
               },
               {{a.ttft.base(), a.itl.base()}, {limit_words(a.prefill_bottleneck), limit_words(a.bottleneck)}}};
  fill_macro(out, r, a.utilization * share.working, rate, notes);
}

void train(SystemEvaluation& out, const ResolvedScenario& r, Notes& notes) {
  const auto a = DistributedModel{}.solve(detail::train_request(r), notes);
  out.fidelity = name_of(a.fidelity);
  fill_feasibility(out, a.memory, r);
  auto& p = out.performance;
  p.metrics = listed(metric("step_latency", a.step_latency_total, "ms", "time of one optimizer step"),
               metric("latency_compute", a.latency_compute, "ms", "arithmetic of the step"),
               metric("latency_memory", a.latency_memory, "ms", "memory-bound part of the step"),
               metric("comm_overhead", a.communication_latency, "ms", "collectives and host transfers before overlap"),
               metric("pipeline_bubble", a.pipeline_bubble_latency, "ms", "idle time of the pipeline"),
               metric("fleet_throughput", a.effective_throughput, "sample/s", "sequences or samples per second"),
               metric("mfu", a.mfu, "model FLOPs utilisation"),
               metric("hfu", a.hfu, "hardware FLOPs utilisation"),
               metric("scaling_efficiency", a.scaling_efficiency, "kernel time over step time"),
               metric("bottleneck", name_of(a.bottleneck), "what limits the step"),
               metric("dp_size", a.dp_size, "data-parallel replicas"),
               metric("microbatch_count", a.microbatch_count, "micro-batches per replica and step"));
  if (a.host_transfer_latency > Time<>())
    p.metrics.push_back(metric("host_transfer", a.host_transfer_latency, "ms", "of comm_overhead, what crosses the link to host memory"));
  if (a.token_throughput > TokenRate<>()) {
    p.metrics.push_back(metric("token_throughput", a.token_throughput, "token/s", "tokens per second"));
    if (const auto& tokens = r.asked().workload->training.tokens)
      p.metrics.push_back(metric("training_time", *tokens / a.token_throughput, "d", "time for the published number of tokens"));
  }
  // Of what a step waits for from outside, the larger part before overlap gives the name.
  const bool host = a.bottleneck == Bottleneck::network && 2.0 * a.host_transfer_latency > a.communication_latency;
  p.summary = {[](const LazyText::Parts& x) {
                 return fmt::format("a step takes {} at {:.1f} % MFU; limited by {}", shown<Time<>>(x, 0), 100 * x.numbers[1], x.words[0].view());
               },
               {{a.step_latency_total.base(), a.mfu}, {host ? SharedText("the link to host memory") : limit_words(a.bottleneck)}}};
  fill_macro(out, r, a.utilization, a.token_throughput, notes);
}

void whole_pass(SystemEvaluation& out, const ResolvedScenario& r, Notes& notes) {
  const auto request = detail::pass_request(r);
  const auto a = InferencePassModel{}.solve(request, notes);
  out.fidelity = name_of(a.fidelity);
  fill_feasibility(out, detail::pass_memory(r, a), r);
  const auto share = r.share();
  const double efficiency = request.efficiency.value_or(conventions_or_standard(request.conventions).textbook_efficiency);
  auto& p = out.performance;
  p.metrics = listed(metric("latency", a.latency, "ms", "time of one batch"),
               metric("latency_compute", a.latency_compute, "ms", "arithmetic"),
               metric("latency_memory", a.latency_memory, "ms", "memory traffic"),
               metric("latency_overhead", a.latency_overhead, "ms", "launches and dispatch"),
               metric("throughput", r.asked().batch_size * unit::sample / a.latency, "sample/s", "samples of all devices"),
               metric("mfu", share.filled * std::min(1.0, efficiency * (a.latency_compute / a.latency)), "model FLOPs utilisation"),
               metric("evaluations", a.evaluations, "runs of the network for one batch"),
               metric("energy", a.energy, "J", "energy of one batch on one device"),
               metric("bottleneck", name_of(a.bottleneck), "what limits the batch"));
  p.summary = batch_summary(a.latency, a.bottleneck);
  const double busy = std::min(1.0, max(a.latency_compute, a.latency_memory) / a.latency);
  fill_macro(out, r, busy * share.working, TokenRate<>(), notes);
}

void infer(SystemEvaluation& out, const ResolvedScenario& r, Notes& notes) {
  if (detail::is_whole_pass(r)) return whole_pass(out, r, notes);
  const auto a = SingleNodeModel{}.solve(detail::infer_request(r), notes);
  out.fidelity = name_of(a.fidelity);
  fill_feasibility(out, a.memory, r);
  auto& p = out.performance;
  const auto share = r.share();
  const SampleRate<> rate = r.asked().batch_size * unit::sample / a.latency;
  p.metrics = listed(metric("latency", a.latency, "ms", "time of one batch"),
               metric("latency_compute", a.latency_compute, "ms", "arithmetic"),
               metric("latency_memory", a.latency_memory, "ms", "memory traffic"),
               metric("latency_overhead", a.latency_overhead, "ms", "launches and dispatch"),
               metric("throughput", rate, "sample/s", "samples of all devices"),
               metric("mfu", a.mfu * share.filled, "model FLOPs utilisation"),
               metric("arithmetic_intensity", a.arithmetic_intensity, "FLOP/B", "work per byte moved"),
               metric("energy", a.energy, "J", "energy of one batch on one device"),
               metric("bottleneck", name_of(a.bottleneck), "what limits the batch"));
  p.summary = batch_summary(a.latency, a.bottleneck);
  fill_macro(out, r, a.utilization * share.working, TokenRate<>(), notes);
}

/// Inputs of a resolver that the scenario knows: the machine and the workload, and fields of one name and dimension.
void fill_inputs(Record& in, const Resolver& resolver, const ResolvedScenario& r) {
  static const auto scenario_fields = describe<Scenario>();
  for (const auto& f : resolver.inputs()) {
    if (f.object_type == ObjectType<HardwareNode>::name) in.set(f.name, DynamicValue(&r.hardware()));
    else if (f.object_type == ObjectType<Workload>::name) in.set(f.name, DynamicValue(r.asked().workload));
    else if (f.object_type == ObjectType<Fleet>::name) in.set(f.name, DynamicValue(&r.fleet()));
    else if (f.object_type == ObjectType<Node>::name) in.set(f.name, DynamicValue(r.fleet().node));
    else if (f.kind == ValueKind::object) continue;
    else if (f.name == "accelerators") in.set(f.name, r.accelerators());
    else if (f.name == "tp_size") in.set(f.name, r.tp_size());
    else if (f.name == "seq_len") in.set(f.name, r.seq_len());
    else if (const auto* known = find_field(scenario_fields, f.name); known != nullptr && known->exps == f.exps) {
      const bool numbers = known->kind == f.kind && (f.kind == ValueKind::number || f.kind == ValueKind::quantity);
      if (!numbers && known->kind != f.kind) continue;
      if (auto v = read_dynamic(*known, &r.asked()); !std::holds_alternative<std::monostate>(v.value)) in.set(f.name, v);
    }
  }
}

/// One resolver of Scenario::also: its results are a level of their own. What it cannot say does not cost the others
/// their answers, so an error is a skipped level with the reason.
EvaluationLevel ask_also(std::string_view name, const ResolvedScenario& r, NoteBook& book) {
  EvaluationLevel out;
  const auto resolver = ResolverRegistry::standard().share(name);
  out.level_name = resolver->info().name;
  try {
    Record in(*resolver, Side::inputs);
    fill_inputs(in, *resolver, r);
    const auto answer = mlsysim::evaluate(*resolver, in);
    book.assumptions.insert(book.assumptions.end(), answer.report.notes.assumptions.begin(), answer.report.notes.assumptions.end());
    book.warnings.insert(book.warnings.end(), answer.report.notes.warnings.begin(), answer.report.notes.warnings.end());
    if (!answer.outcome.feasible()) {
      out.status = LevelStatus::fail;
      out.summary = answer.outcome.why()->reason;
      return out;
    }
    for (const auto& f : answer.outcome->fields()) {
      const Value v = f.read(answer.outcome->data());
      if (std::holds_alternative<double>(v) || std::holds_alternative<bool>(v) || std::holds_alternative<std::string>(v))
        out.metrics.push_back({std::string(f.name), v, f.exps, std::string(f.unit), std::string(f.meaning)});
    }
    out.summary = resolver->info().about;
  } catch (const Error& error) {
    out.status = LevelStatus::skipped;
    out.summary = error.facts().message + (error.facts().found.empty() ? "" : ": " + error.facts().found);
  }
  return out;
}

/// One field that may have been left at its default, and how that is noted.
struct DefaultRow {
  const FieldInfo* field;
  bool draft;        ///< speaks of the draft model
  Assumption noted;

  [[nodiscard]] bool kept_by(const Scenario& s) const {
    static const Scenario usual{};
    const auto* given = reinterpret_cast<const std::byte*>(&s) + field->offset;
    const auto* normal = reinterpret_cast<const std::byte*>(&usual) + field->offset;
    if (field->size == sizeof(double) && field->kind != ValueKind::text)
      return *reinterpret_cast<const double*>(given) == *reinterpret_cast<const double*>(normal);
    if (field->kind == ValueKind::flag || field->kind == ValueKind::choice) return std::memcmp(given, normal, field->size) == 0;
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
    if (const auto* x = std::get_if<double>(&f.default_value)) value = AssumedValue::exact(*x);
    else if (const auto* b = std::get_if<bool>(&f.default_value)) value = *b ? AssumedValue("true") : AssumedValue("false");
    else if (const auto* t = std::get_if<std::string>(&f.default_value)) value = *t;
    rows.push_back({&f, place.draft, {SharedText::lasting(f.name), std::move(value), SharedText::lasting(f.default_source)}});
  }
  return rows;
}

/// Inputs that were left at their defaults, from the table; the resolvers note what they fill in themselves.
void note_defaults(const Scenario& s, Mode mode, Notes& notes) {
  static const std::array rows{default_rows(Mode::infer), default_rows(Mode::serve), default_rows(Mode::train)};
  for (const auto& row : rows[static_cast<std::size_t>(mode)])
    if (!(row.draft && s.draft_model == nullptr) && row.kept_by(s)) notes.assume(row.noted);
}

}  // namespace

SystemEvaluation SystemEvaluator::evaluate(const Scenario& scenario) {
  NoteBook book;
  Notes notes(book);
  const ResolvedScenario r(scenario, notes);
  SystemEvaluation out;
  out.scenario_name = scenario.name;
  out.workload = scenario.workload->name;
  out.hardware = r.fleet().name;
  out.mode = name_of(r.mode());
  out.performance.level_name = "performance";
  note_defaults(scenario, r.mode(), notes);
  switch (r.mode()) {
    case Mode::serve: serve(out, r, notes); break;
    case Mode::train: train(out, r, notes); break;
    case Mode::infer: infer(out, r, notes); break;
  }
  if (scenario.also)
    for (const auto name : names_in(*scenario.also)) out.further.push_back(ask_also(name, r, book));
  if (out.feasibility.status == LevelStatus::fail) {
    out.performance.status = LevelStatus::fail;
    out.performance.summary = "not reached, because the model does not fit; as if it did: " + out.performance.summary;
  }
  // One line for each assumption, however many resolvers made it.
  auto& noted = book.assumptions;
  auto end = noted.begin();
  NameFilter names;
  for (auto& a : noted) {
    const bool known = names.add(a.name) && std::any_of(noted.begin(), end, [&](const Assumption& b) { return a.name == b.name && a.value == b.value; });
    if (known) continue;
    if (&*end != &a) *end = std::move(a);
    ++end;
  }
  noted.erase(end, noted.end());
  out.assumptions = std::move(noted);
  out.warnings = std::move(book.warnings);
  return out;
}

}  // namespace mlsysim
