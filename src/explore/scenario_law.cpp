#include "detail/scenario_card.hpp"
#include "detail/scenario_core.hpp"
#include "detail/spec_figures.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/requests.hpp>
#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/explore/subject.hpp>
#include <mlsysim/scalars/traced.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace mlsysim {
namespace {

using detail::ScenarioInputs;
using detail::ScenarioResults;
using detail::ScenarioState;

bool among(std::span<const std::string> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
template <std::size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 5> kMemory{"memory_used", "memory_capacity", "memory_missing", "memory_utilization", "plan_fits"};
constexpr std::array<std::string_view, 16> kServe{
    "ttft", "itl", "request_latency", "token_throughput", "throughput_per_accelerator", "prefill_mfu", "mfu", "replicas",
    "prefill_compute", "prefill_memory", "prefill_network", "prefill_overhead", "decode_compute", "decode_memory",
    "decode_network", "decode_overhead"};
constexpr std::array<std::string_view, 16> kTrain{
    "step_latency", "latency_compute", "latency_memory", "latency_network", "latency_overhead", "comm_overhead",
    "host_transfer", "pipeline_bubble", "fleet_throughput", "mfu", "hfu", "scaling_efficiency", "dp_size", "microbatch_count",
    "token_throughput", "training_time"};
constexpr std::array<std::string_view, 9> kInfer{"latency", "latency_compute", "latency_memory", "latency_network", "latency_overhead",
                                                 "throughput", "mfu", "arithmetic_intensity", "energy_per_batch"};
constexpr std::array<std::string_view, 8> kMacro{"utilization", "tco", "capex", "energy_cost", "maintenance", "energy",
                                                 "carbon_footprint", "water"};
constexpr std::array<std::string_view, 3> kPerToken{"cost_per_token", "energy_per_token", "carbon_per_token"};
/// Results in which the price of the devices is.
constexpr std::array<std::string_view, 4> kPriced{"tco", "capex", "maintenance", "cost_per_token"};
/// Members of the plan that follow from the numbers of the scenario.
constexpr std::array<std::string_view, 10> kPlanned{
    "plan.tp", "plan.pp", "plan.dp", "plan.ep", "plan.cp", "plan.virtual_stages", "plan.batch", "plan.microbatches",
    "plan.new_tokens", "plan.context"};
/// Members of the plan that a training scenario names itself.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNamed{
    {{"plan.overlap", "overlap_efficiency"}, {"plan.tp_overlap", "tp_overlap"}, {"plan.recomputed", "recomputed_share"},
     {"plan.steal", "overlap_slowdown"}, {"plan.trainable", "trainable_fraction"}}};

bool is_result(const ScenarioState& s, std::string_view name) {
  if (name == "host_transfer" && !s.prefill.offloads) return false;
  if (name == "training_time" && s.training_tokens == 0) return false;
  if (among(kMemory, name)) return true;
  if (s.mode == Mode::serve ? among(kServe, name) : s.mode == Mode::train ? among(kTrain, name) : among(kInfer, name))
    return name != "energy_per_batch" || s.has_power;
  if (!among(kMacro, name) && !(among(kPerToken, name) && s.mode != Mode::infer)) return false;
  return name == "utilization" || (s.has_power && (s.has_price || !among(kPriced, name)));
}

/// Whether a device whose power or price is not known lacks this result. A search must not take a price for nothing.
[[nodiscard]] std::string why_absent(const ScenarioState& s, std::string_view name, const std::string& device) {
  if (!s.has_power && name != "utilization" && (among(kMacro, name) || among(kPerToken, name))) return fmt::format("no TDP is known for {}", device);
  if (!s.has_price && among(kPriced, name)) return fmt::format("the price of {} is not known; unit_cost gives one", device);
  return {};
}

bool is_input(const ScenarioState& s, const FieldInfo& f, double value) {
  const std::string_view name = f.name;
  if (name.starts_with("shape.")) return s.sequences && value != 0;
  // Shares in host memory are numbers only where the lowering moves something there.
  if (name.starts_with("plan.offload_")) return s.prefill.offloads;
  if (name.starts_with("plan.")) return !among(kPlanned, name);
  if (!name.starts_with("run.")) return true;
  const auto bare = name.substr(4);
  const auto used = fields_used_in(s.mode);
  if (std::find(used.begin(), used.end(), bare) == used.end()) return false;
  if (bare == "output_tokens") return s.generates;
  if (bare == "microbatch_count") return !s.undivided && !s.sized;
  if (bare == "microbatch_size") return s.sized;
  if (bare == "seq_len") return s.sequences && s.chunks == 1;
  if (bare == "cached_prefix_len") return s.chunks == 1;
  return true;
}

/// The table of Scenario knows its numbers best; the books and the facility need no prefix to be told apart.
FieldInfo public_field(const FieldInfo& f, Mode mode) {
  std::string name = f.name;
  for (const auto& [member, field] : kNamed)
    if (mode == Mode::train && f.name == member) name = fmt::format("run.{}", field);
  if (name.starts_with("run.")) {
    FieldInfo out = *find_field(describe<Scenario>(), std::string_view(name).substr(4));
    out.nullable = false;
    return out;
  }
  FieldInfo out = f;
  // Sizes of a model and of a machine's parts are counts, though the lowering may price fractions of them.
  out.integral = out.integral || (f.kind == ValueKind::number && (name.starts_with("shape.") || name == "links.per_node" || name == "device.units" ||
                                  name == "device.tile_m" || name == "device.tile_n"));
  return out;
}

void know_books(ScenarioState& state, const ResolvedScenario& r) {
  state.has_power = r.hardware().power.tdp.has_value();
  state.has_price = r.asked().unit_cost.has_value() || r.hardware().unit_cost.has_value();
}

void add_books(ScenarioState& state, const ResolvedScenario& r, Notes& notes) {
  const Scenario& s = r.asked();
  const Conventions& c = conventions_or_standard(s.conventions);
  auto& in = state.base;
  in.run.duration_days = s.duration_days;
  in.run.infrastructure_multiplier = s.infrastructure_multiplier;
  in.run.kwh_price = s.kwh_price.value_or(c.electricity_price);
  in.run.unit_cost = s.unit_cost.value_or(r.hardware().unit_cost.value_or(Money<>()));
  in.facility.maintenance_share = c.maintenance_share;
  in.facility.lifetime = c.amortization_years * unit::yr;
  in.facility.pue = 1;
  know_books(state, r);
  if (!state.has_power) {
    notes.warn([&] { return fmt::format("no TDP is known for {}, so cost and carbon cannot be computed", r.hardware().name); });
    return;
  }
  // The economics tell which grid and facility count; at full load their ratios are the figures behind.
  const auto e = EconomicsModel{}.solve({.fleet = &r.fleet(), .duration_days = s.duration_days, .kwh_price = s.kwh_price,
                                         .datacenter = s.datacenter, .grid = s.grid, .utilization = 1.0,
                                         .unit_cost = s.unit_cost, .infrastructure_multiplier = s.infrastructure_multiplier,
                                         .conventions = s.conventions}, notes);
  Notes quiet;
  const auto use = SustainabilityModel{}.solve({.fleet = &r.fleet(), .duration_days = s.duration_days, .datacenter = s.datacenter,
                                                .grid = s.grid, .utilization = 1.0, .conventions = s.conventions}, quiet);
  if (!s.kwh_price && e.total_energy > Energy<>()) in.run.kwh_price = e.opex_energy / e.total_energy;
  in.facility.pue = e.pue;
  in.facility.wue = use.water_usage / use.it_energy;
  in.facility.carbon_intensity = use.operational_carbon / use.total_energy;
  in.facility.embodied_carbon = r.hardware().embodied_carbon.value_or(Carbon<>());
}

/// What `plan_fits` holds the numbers to.
void add_limits(ScenarioState& state, const ResolvedScenario& r) {
  const Scenario& s = r.asked();
  state.has_layers = s.workload->shape.layers.has_value() && state.base.shape.layers > 0;
  state.has_heads = s.workload->shape.heads.has_value() && state.base.shape.heads > 0;
  const bool counts_follow = s.fleet == nullptr && !s.accelerators_per_node;
  state.per_node = counts_follow && s.node_count ? *s.node_count : r.fleet().node->accelerators_per_node;
  state.part_of_node = counts_follow && !s.node_count;
  if (state.sized) state.given_count = s.microbatch_count.value_or(0);
}

/// Whether one of the names is a number that `plan_fits` hangs on.
bool plan_varies(std::span<const std::string> varied) {
  static constexpr std::array<std::string_view, 11> counts{"accelerators", "tp_size", "pp_size", "ep_size", "cp_size", "v_stages", "seq_len",
                                                           "cached_prefix_len", "batch_size", "microbatch_size", "gradient_accumulation_steps"};
  return std::any_of(varied.begin(), varied.end(), [](const std::string& name) { return among(counts, name) || name.starts_with("shape."); });
}

/// Views of the scenario at operator fidelity, in one state.
void fill(ScenarioState& state, const ResolvedScenario& r, Notes& notes) {
  const Scenario& s = r.asked();
  auto& in = state.base;
  in.run.batch_size = s.batch_size;
  in.run.seq_len = r.seq_len();
  in.run.output_tokens = s.output_tokens.value_or(0);
  in.run.cached_prefix_len = s.cached_prefix_len;
  in.run.accelerators = r.accelerators();
  in.run.tp_size = r.tp_size();
  in.run.pp_size = s.pp_size;
  in.run.ep_size = s.ep_size;
  in.run.cp_size = s.cp_size;
  in.run.v_stages = s.v_stages;
  in.run.microbatch_count = s.microbatch_count.value_or(1);
  in.run.gradient_accumulation_steps = s.gradient_accumulation_steps;
  state.sequences = s.workload->architecture != Architecture::cnn;
  if (r.mode() == Mode::serve) {
    const auto v = prepare_serving(detail::serve_request(r), notes);
    state.prefill = v.prefill.structure;
    state.decode = v.decode.structure;
    state.layers = v.prefill.layers;
    state.generates = s.output_tokens.has_value();
    state.chunks = v.chunks;
    state.chunk = v.chunk;
    in.shape = v.prefill.shape;
    in.device = v.prefill_device;
    in.links = v.links;
    in.plan = v.plan;
    return;
  }
  const auto v = r.mode() == Mode::train ? prepare_distributed(detail::train_request(r), notes)
                                         : prepare_single_node(detail::infer_request(r), notes);
  state.prefill = v.model.structure;
  if (r.mode() == Mode::train) {
    // With one rank it changes nothing, and the degree may vary.
    state.prefill.sequence_parallel = s.sequence_parallel;
    state.sized = s.microbatch_size.has_value();
    in.run.microbatch_size = s.microbatch_size.value_or(1);
    state.undivided = !s.microbatch_count && !state.sized;
    if (const auto& tokens = s.workload->training.tokens) state.training_tokens = tokens->base();
  }
  state.layers = v.model.layers;
  in.shape = v.model.shape;
  in.device = v.device;
  in.links = v.links;
  in.plan = v.plan;
}

/// The scorecard itself, for what has no views over every scalar.
struct Scorecard {
  Scenario scenario;
  std::vector<FieldInfo> inputs;     ///< of Scenario
  detail::SpecFigures figures;       ///< of what it points to; they follow the inputs
  std::vector<std::string> results;  ///< "performance.ttft"
  detail::ScorecardState derived;    ///< of the results that exploration knows by name
  std::vector<std::size_t> known;    ///< which those are

  void run(const double* in, double* out) const {
    Scenario s = scenario;
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].write(&s, Value(in[i]));
    const auto copies = figures.apply(in + inputs.size(), &s);
    try {
      const auto card = SystemEvaluator::evaluate(s);
      for (std::size_t i = 0; i < results.size(); ++i) {
        const Metric* m = card.find(results[i]);
        const double* number = m == nullptr ? nullptr : std::get_if<double>(&m->value);
        out[i] = number == nullptr ? std::numeric_limits<double>::quiet_NaN() : *number;
      }
    } catch (const Error&) {  // contradictory counts: no answer at this point
      std::fill_n(out, results.size(), std::numeric_limits<double>::quiet_NaN());
    }
  }
};

/// What a derivation needs of a scenario whose numbers come from its scorecard.
void fill_derived(Scorecard& card, const ResolvedScenario& r, std::span<const FieldInfo> results) {
  Notes quiet;
  auto& d = card.derived;
  auto& state = d.books;
  const Scenario& s = r.asked();
  state.mode = r.mode();
  state.generates = s.output_tokens.has_value();
  auto& in = state.base;
  in.run.accelerators = r.accelerators();
  in.run.batch_size = s.batch_size;
  in.run.seq_len = r.seq_len();
  in.run.output_tokens = s.output_tokens.value_or(0);
  add_books(state, r, quiet);
  in.device.tdp = r.hardware().power.tdp.value_or(Power<>());
  in.device.idle_fraction = conventions_or_standard(s.conventions).idle_fraction;
  const bool textbook = fidelity_or_default(s.fidelity, *s.workload, quiet) == Fidelity::textbook;
  if (r.mode() == Mode::serve) {
    const auto request = detail::serve_request(r);
    d.load = ServingModel{}.solve(request, quiet).utilization;
    if (textbook) d.serving = prepare_textbook_serving(request, quiet);
  } else if (r.mode() == Mode::train) {
    const auto request = detail::train_request(r);
    d.load = DistributedModel{}.solve(request, quiet).utilization;
    if (textbook) d.step = prepare_textbook_distributed(request, quiet);
  } else if (detail::is_whole_pass(r)) {
    const auto a = InferencePassModel{}.solve(detail::pass_request(r), quiet);
    d.load = std::min(1.0, max(a.latency_compute, a.latency_memory) / a.latency);
  } else {
    d.load = SingleNodeModel{}.solve(detail::infer_request(r), quiet).utilization;
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    for (const auto& f : describe<ScenarioResults<>>())
      if (f.name == results[i].name) {
        card.known.push_back(i);
        d.positions.push_back(static_cast<std::uint16_t>(f.offset / sizeof(double)));
      }
}

void use_scorecard(Subject& out, const ResolvedScenario& r) {
  auto card = std::make_shared<Scorecard>();
  card->scenario = r.asked();
  const auto used = fields_used_in(r.mode());
  for (const auto& f : describe<Scenario>()) {
    const bool number = f.kind == ValueKind::number || f.kind == ValueKind::quantity;
    if (!number || std::find(used.begin(), used.end(), f.name) == used.end()) continue;
    Value v = f.read(&card->scenario);
    if (f.name == "tp_size" && r.mode() != Mode::infer) v = r.tp_size();
    if (f.name == "seq_len") v = r.seq_len();
    if (!std::holds_alternative<double>(v)) continue;
    card->inputs.push_back(f);
    out.point.push_back(std::get<double>(v));
  }
  card->figures = detail::SpecFigures(describe<Scenario>(), &card->scenario);
  out.point.insert(out.point.end(), card->figures.point().begin(), card->figures.point().end());
  ScenarioState books;
  know_books(books, r);
  if (!books.has_power)  // the card has no such metrics to go through
    for (const auto names : {std::span<const std::string_view>(kMacro), std::span<const std::string_view>(kPerToken)})
      for (const auto name : names)
        if (auto why = why_absent(books, name, r.hardware().name); !why.empty()) out.absent.emplace_back(name, std::move(why));
  const auto base = SystemEvaluator::evaluate(card->scenario);
  for (const auto* level : {&base.feasibility, &base.performance, &base.macro})
    for (const auto& m : level->metrics) {
      if (!std::holds_alternative<double>(m.value) || m.name == "duration_days") continue;
      if (auto why = why_absent(books, m.name, r.hardware().name); !why.empty()) {
        out.absent.emplace_back(m.name, std::move(why));
        continue;
      }
      FieldInfo f;
      f.name = m.name == "energy" && level == &base.performance ? "energy_per_batch" : m.name;
      // The registry of units keeps its texts; a metric does not.
      for (const auto& known : describe<ScenarioResults<>>())
        if (known.name == f.name) f.unit = known.unit, f.meaning = known.meaning;
      f.kind = m.exps.dimensionless() ? ValueKind::number : ValueKind::quantity;
      f.exps = m.exps;
      card->results.push_back(level->level_name + "." + m.name);
      out.entry.results.push_back(std::move(f));
    }
  fill_derived(*card, r, out.entry.results);
  out.assumptions = base.assumptions;
  out.warnings = base.warnings;
  out.entry.inputs = card->inputs;
  out.entry.inputs.insert(out.entry.inputs.end(), card->figures.inputs().begin(), card->figures.inputs().end());
  out.entry.self = card;
  out.entry.evaluate = [](const void* self, const double* in, double* to) { static_cast<const Scorecard*>(self)->run(in, to); };
  out.entry.traced = [](const void* self, const Traced* in, Traced* to) {
    const auto& c = *static_cast<const Scorecard*>(self);
    std::vector<double> given(c.inputs.size() + c.figures.point().size()), found(c.results.size()), card_numbers;
    for (std::size_t i = 0; i < given.size(); ++i) given[i] = in[i].value;
    c.run(given.data(), found.data());
    for (std::size_t i = 0; i < found.size(); ++i) to[i] = Traced(found[i]);
    for (const std::size_t i : c.known) card_numbers.push_back(found[i]);
    std::vector<Traced> derived(c.known.size());
    detail::scorecard_traced(c.derived, card_numbers.data(), derived.data());
    for (std::size_t k = 0; k < c.known.size(); ++k) to[c.known[k]] = derived[k];
  };
  out.entry.batch = [](const void* self, const double* const* in, double* const* to, std::size_t points) {
    const auto& c = *static_cast<const Scorecard*>(self);
    std::vector<double> given(c.inputs.size() + c.figures.point().size()), found(c.results.size());
    for (std::size_t p = 0; p < points; ++p) {
      for (std::size_t i = 0; i < given.size(); ++i) given[i] = in[i][p];
      c.run(given.data(), found.data());
      for (std::size_t i = 0; i < found.size(); ++i) to[i][p] = found[i];
    }
  };
}

}  // namespace

Subject subject_of(const Scenario& scenario, std::span<const std::string> varied) {
  NoteBook book;
  Notes notes(book);
  Scenario asked = scenario;
  // A field that varies is given: nothing may be derived from its absence.
  if (!asked.microbatch_count && among(varied, "microbatch_count")) asked.microbatch_count = 1;
  if (!asked.output_tokens && among(varied, "output_tokens")) asked.output_tokens = 1;
  if (!asked.unit_cost && among(varied, "unit_cost")) asked.unit_cost = Money<>();
  const ResolvedScenario r(asked, notes);
  Subject out;
  out.estimates = [scenario] { return estimates_behind(scenario); };
  out.title = fmt::format("{} on {}, {}", asked.workload->name, r.fleet().name, name_of(r.mode()));
  out.entry.info = {.id = "Scenario", .equation = "scorecard = f(scenario, device, network, facility, model)", .source = "",
                    .where = "", .assumptions = "one number at a time varies; the others stay"};
  const bool stretched = among(varied, "congestion_factor") || among(varied, "straggler_factor");
  if (stretched || !detail::answered_by_views(r) ||
      fidelity_or_default(asked.fidelity, *asked.workload, notes) == Fidelity::textbook) {
    use_scorecard(out, r);
    return out;
  }
  auto state = std::make_shared<ScenarioState>();
  state->mode = r.mode();
  fill(*state, r, notes);
  add_limits(*state, r);
  add_books(*state, r, notes);
  const double* base = reinterpret_cast<const double*>(&state->base);
  for (const auto& f : describe<ScenarioInputs<>>()) {
    const auto at = f.offset / sizeof(double);
    if (!is_input(*state, f, base[at])) continue;
    state->inputs.push_back(static_cast<std::uint16_t>(at));
    out.entry.inputs.push_back(public_field(f, state->mode));
    out.point.push_back(base[at]);
  }
  for (const auto& f : describe<ScenarioResults<>>()) {
    if (!is_result(*state, f.name)) {
      if (auto why = why_absent(*state, f.name, r.hardware().name); !why.empty()) out.absent.emplace_back(f.name, std::move(why));
      continue;
    }
    state->results.push_back(static_cast<std::uint16_t>(f.offset / sizeof(double)));
    out.entry.results.push_back(f);
  }
  out.entry.is_law = true;
  out.entry.self = state;
  out.entry.evaluate = &detail::scenario_double;
  out.entry.batch = &detail::scenario_batch;
  out.entry.dual = &detail::scenario_dual;
  out.entry.interval = &detail::scenario_interval;
  out.entry.traced = &detail::scenario_traced;
  // A plan that no axis can mend is refused as eval refuses it, which also says why.
  if (!plan_varies(varied) && out.entry(out.point)[out.result("plan_fits")] != 1) (void)detail::memory_needed(r);
  for (auto& a : book.assumptions) {
    const bool known = std::any_of(out.assumptions.begin(), out.assumptions.end(),
                                   [&](const Assumption& b) { return a.name == b.name && a.value == b.value; });
    if (!known) out.assumptions.push_back(std::move(a));
  }
  out.warnings = std::move(book.warnings);
  return out;
}

}  // namespace mlsysim
