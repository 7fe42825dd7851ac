// A scenario as a law from its numbers to its scorecard.

#include "explore/names.hpp"
#include "explore/subject/scenario_point.hpp"
#include "explore/subject/spec_figures.hpp"

#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/problem_laws.hpp>
#include <mlsysim/engine/requests.hpp>
#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/reflect/detail/aliases.hpp>
#include <mlsysim/resolvers/detail/once.hpp>
#include <mlsysim/tape/record.hpp>
#include <mlsysim/units/any_quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim {
namespace {

/// A scenario whose numbers move while its categories stay.
struct MovingScenario {
  MovingProblem problem;
  std::shared_ptr<const ProblemLaw> law;
  std::vector<double> base;            ///< all inputs of the law
  std::vector<std::uint16_t> inputs;   ///< those that move
  std::vector<std::uint16_t> results;  ///< those that are listed

  explicit MovingScenario(const AnyProblem& asked)
      : problem(asked), law(problem_law(asked)), base(problem_leaves(asked)) {}

  /// All inputs of the law at a point.
  [[nodiscard]] std::vector<double> spread(const double* in) const {
    auto all = base;
    for (std::size_t i = 0; i < inputs.size(); ++i) all[inputs[i]] = in[i];
    return all;
  }
  void run(const double* in, double* out) const {
    const auto numbers = problem.evaluate(spread(in));
    for (std::size_t i = 0; i < results.size(); ++i) out[i] = numbers[results[i]];
  }
  /// From the inputs that move to the results that are listed; made when it is first asked for.
  [[nodiscard]] const Tape& tape() const {
    made_.call([&] { tape_ = part_of_law({}); });
    return tape_;
  }
  /// The part of it where more inputs are fixed: straight from the law where the tape was not asked for.
  [[nodiscard]] Tape part(const TapeReduction& known) const {
    return made_.done() ? reduced(tape_, known) : part_of_law(known);
  }

 private:
  [[nodiscard]] Tape part_of_law(const TapeReduction& known) const {
    std::vector<std::optional<double>> fixed(base.begin(), base.end());
    std::vector<Interval> box;
    if (!known.box.empty()) box.assign(base.begin(), base.end());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      fixed[inputs[i]] = i < known.fixed.size() ? known.fixed[i] : std::nullopt;
      if (!box.empty()) box[inputs[i]] = known.box[i];
    }
    std::vector<std::size_t> wanted, kept(inputs.begin(), inputs.end());
    if (known.all && known.results.empty()) wanted.assign(results.begin(), results.end());
    for (const std::size_t r : known.results) wanted.push_back(results[r]);
    return reduced(law->tape(),
                   {.fixed = fixed, .box = box, .results = wanted, .all = false, .inputs = kept});
  }

  mutable detail::Once made_;
  mutable Tape tape_;
};

/// Why a device whose power or price is not known lacks results. A search must not take a price for nothing.
std::string without_power(const std::string& device) { return fmt::format("no TDP is known for {}", device); }
std::string without_price(const std::string& device) {
  return fmt::format("the price of {} is not known; unit_cost gives one", device);
}

/// Names the results that are lacking where the power or the price of a device is not known, with the reason.
void say_what_is_absent(Subject& out, Mode mode, bool has_power, bool has_price, const std::string& device) {
  for (const auto& f : describe<MacroEstimate<>>()) {
    const bool of_tokens = f.name.ends_with("_per_token"), of_batch = f.name == "energy_per_batch";
    if ((mode == Mode::infer && of_tokens && has_power) || (mode != Mode::infer && of_batch)) continue;
    if (!has_power)
      out.absent.emplace_back(f.name, without_power(device));
    else if (!has_price && needs_price(f.name))
      out.absent.emplace_back(f.name, without_price(device));
  }
}

/// Whether questions vary a number that matters to a problem.
/// @param value of the number: a size that is 0 does not occur; moving it would add a part that the structure
/// does not have
template <class Problem>
bool may_move(const Problem& p, const FieldInfo& field, double value, std::span<const std::string> varied) {
  const std::string_view path = field.name;
  if (field.held) return false;
  bool sequences = true, chunked = false;
  if constexpr (requires { p.sequences; }) sequences = p.sequences;
  if constexpr (requires { p.chunked_prefill; }) chunked = p.chunked_prefill;
  if (detail::is_size_of_model(path)) return sequences && value != 0;
  // 0 stands for what nobody stated.
  if (path == "plan.rank_imbalance" || path == "prefill_tp_size" || path == "prefill_ep_size")
    return value != 0;
  if (path.starts_with("offload_")) return p.model.structure.offloads;
  if (path.starts_with("plan.host_")) return p.model.structure.host_computes && value != 0;
  // The number of chunks is part of the law: in steady state lengths move between those that have as many,
  // where they are no axis.
  bool steady = false;
  if constexpr (requires { p.load; }) steady = p.load != Load::burst;
  if (path == "seq_len" || path == "cached_prefix_len")
    return sequences && (!chunked || (steady && !among(varied, path)));
  return true;
}

/// Keeps the lengths of a chunked prompt to those that have as many chunks.
template <class Problem> void keep_chunks(const Problem& p, FieldInfo& field) {
  if constexpr (requires { p.load; }) {
    if (p.load == Load::burst || !p.chunked_prefill) return;
    const double least = (p.chunks - 1) * p.prefill_chunk_tokens + 1,
                 most = p.chunks * p.prefill_chunk_tokens;
    if (field.name == "seq_len") {
      field.low = std::max(field.low, p.cached_prefix_len + least);
      field.high = std::min(field.high, p.cached_prefix_len + most);
    } else if (field.name == "cached_prefix_len") {
      field.low = std::max(field.low, p.seq_len - most);
      field.high = std::min(field.high, p.seq_len - least);
    }
  }
}

/// Whether a number has an effect in a mode, where a scenario names it.
bool used_in(Mode mode, std::string_view name) {
  const auto* own = find_field(describe<Scenario>(), name);
  if (own == nullptr || own->name != name) return true;
  const auto used = fields_used_in(mode);
  return std::find(used.begin(), used.end(), name) != used.end();
}

/// Description of an input for users; an input that is a scenario's field is described by its table.
FieldInfo public_field(const FieldInfo& f) {
  FieldInfo out = f;
  if (const auto* own = find_field(describe<Scenario>(), f.name); own != nullptr && own->name == f.name) {
    out = *own;
    out.nullable = false;
  }
  // The machine's parts are counts, though the lowering may price fractions of them.
  out.integral = out.integral || (f.kind == ValueKind::number && f.name.starts_with("links.level") &&
                                  f.name.ends_with(".peers"));
  return out;
}

/// Whether `plan_fits` depends on one of the inputs that vary.
bool plan_varies(const ProblemLaw& law, std::span<const std::string> varied) {
  if (varied.empty()) return false;
  const auto inputs = law.inputs_of(law.result("plan_fits"));
  for (std::size_t i = 0; i < law.inputs.size(); ++i)
    if (inputs[i] && among(varied, law.inputs[i].name)) return true;
  return false;
}

/// A device has a rate, and a share that products sustain, for each format. The inputs are those of the
/// format that the scenario computes in.
void name_formats(std::vector<FieldInfo>& inputs, const ResolvedScenario& r, bool lists_operators) {
  const Precision precision = detail::precision_of(r);
  for (auto& f : inputs) {
    if (f.name == "hardware.compute.dense") f.name += fmt::format(".{}", name_of(precision));
    if (f.name == "hardware.efficiency.matrix" && lists_operators && bytes_per_element(precision) <= 1)
      f.name += "_narrow";
  }
}

/// Widens the range of an input so that it holds a value that was derived from a scenario, which has been
/// checked.
void admit(FieldInfo& field, double base) {
  if (!std::isfinite(base)) return;
  const double shown = field.unit.empty() ? base : AnyQuantity::from_base(base, field.exps).in(field.unit);
  if (field.open_low ? !(shown > field.low) : shown < field.low) {
    field.low = shown;
    field.open_low = false;
  }
  field.high = std::max(field.high, shown);
  field.integral = field.integral && base == std::floor(base);
}

/// Fills the entry of a scenario that one problem answers.
std::shared_ptr<const MovingScenario> use_problem(Subject& out, const ResolvedScenario& r,
                                                  std::span<const std::string> varied, Notes& notes) {
  const auto state = std::make_shared<MovingScenario>(settle(r, notes));
  const ProblemLaw& law = *state->law;
  std::visit(
      [&](const auto& problem) {
        out.entry.inputs.reserve(law.inputs.size());
        for (std::size_t i = 0; i < law.inputs.size(); ++i) {
          if (!law.matters[i] || !may_move(problem, law.inputs[i], state->base[i], varied)) continue;
          if (!used_in(r.mode(), law.inputs[i].name)) continue;
          state->inputs.push_back(static_cast<std::uint16_t>(i));
          out.entry.inputs.push_back(public_field(law.inputs[i]));
          keep_chunks(problem, out.entry.inputs.back());
          out.point.push_back(state->base[i]);
          admit(out.entry.inputs.back(), state->base[i]);
        }
        const bool has_power = problem.macro.has_power, has_price = problem.macro.has_price;
        out.entry.results.reserve(law.reported.size());
        for (const auto i : law.reported) {
          if (!has_price && needs_price(law.results[i].name)) continue;
          state->results.push_back(i);
          out.entry.results.push_back(law.results[i]);
        }
        name_formats(out.entry.inputs, r, problem.fidelity_model->lists_operators());
        say_what_is_absent(out, r.mode(), has_power, has_price, r.hardware().name);
      },
      state->problem.problem());
  out.entry.evaluate = [](const void* self, const double* in, double* to) {
    static_cast<const MovingScenario*>(self)->run(in, to);
  };
  out.entry.recorded = [](const void* self) -> const Tape& {
    return static_cast<const MovingScenario*>(self)->tape();
  };
  out.entry.narrowed = [](const void* self, const TapeReduction& known) {
    return static_cast<const MovingScenario*>(self)->part(known);
  };
  out.entry.self = state;
  out.derive = [state](std::span<const double> point, std::size_t result, std::span<const std::string> open) {
    return derive_result(*state->law, state->spread(point.data()), state->results[result], open);
  };
  return state;
}

/// The scorecard itself, for passes that no list of operators describes.
struct Scorecard {
  Scenario scenario;
  std::vector<FieldInfo> inputs;     ///< of Scenario
  detail::SpecFigures figures;       ///< of what it points to; they follow the inputs
  std::vector<std::string> results;  ///< "performance.ttft"

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

void use_scorecard(Subject& out, const ResolvedScenario& r) {
  auto card = std::make_shared<Scorecard>();
  card->scenario = r.asked();
  const auto used = fields_used_in(r.mode());
  for (const auto& f : describe<Scenario>()) {
    const bool number = f.kind == ValueKind::number || f.kind == ValueKind::quantity;
    if (!number || std::find(used.begin(), used.end(), f.name) == used.end()) continue;
    Value v = f.read(&card->scenario);
    if (f.name == "tp_size" && r.mode() == Mode::train) v = r.tp_size();
    if (f.name == "seq_len") v = r.seq_len();
    if (!std::holds_alternative<double>(v)) continue;
    card->inputs.push_back(f);
    out.point.push_back(std::get<double>(v));
  }
  card->figures = detail::SpecFigures(describe<Scenario>(), &card->scenario);
  out.point.insert(out.point.end(), card->figures.point().begin(), card->figures.point().end());
  const bool has_power = r.hardware().power.tdp.has_value(),
             has_price = r.asked().unit_cost.has_value() || r.hardware().unit_cost.has_value();
  say_what_is_absent(out, r.mode(), has_power, has_price, r.hardware().name);
  const auto base = SystemEvaluator::evaluate(card->scenario);
  for (const auto* level : {&base.feasibility, &base.performance, &base.macro})
    for (const auto& m : level->metrics) {
      if (!std::holds_alternative<double>(m.value) || m.name == "duration_days") continue;
      FieldInfo f;
      f.name = m.name == "energy" && level == &base.performance ? "energy_per_batch" : m.name;
      f.unit = m.unit;
      f.meaning = m.meaning;
      f.kind = m.exps.dimensionless() ? ValueKind::number : ValueKind::quantity;
      f.exps = m.exps;
      card->results.push_back(level->level_name + "." + m.name);
      out.entry.results.push_back(std::move(f));
    }
  out.assumptions = base.assumptions;
  out.warnings = base.warnings;
  out.entry.inputs = card->inputs;
  out.entry.inputs.insert(out.entry.inputs.end(), card->figures.inputs().begin(),
                          card->figures.inputs().end());
  out.entry.self = card;
  out.entry.evaluate = [](const void* self, const double* in, double* to) {
    static_cast<const Scorecard*>(self)->run(in, to);
  };
}

/// A number of devices that varies starts from those of one replica, one of a pool from 1; a price that
/// varies is given, since without one there are no results that hang on it.
void give_free(Scenario& s, std::span<const std::string> varied) {
  if (among(varied, "accelerators") && s.fleet == nullptr && !s.accelerators && !s.node_count &&
      !s.accelerators_per_node)
    s.accelerators = s.tp_size.value_or(1) * s.pp_size * s.ep_size * s.cp_size;
  constexpr std::array<std::pair<std::string_view, std::optional<double> Scenario::*>, 4> pools{
      {{"prefill_replicas", &Scenario::prefill_replicas},
       {"prefill_tp_size", &Scenario::prefill_tp_size},
       {"prefill_ep_size", &Scenario::prefill_ep_size},
       {"decode_replicas", &Scenario::decode_replicas}}};
  for (const auto& [name, count] : pools)
    if (!(s.*count) && among(varied, name)) s.*count = 1;
  // A number of requests under the name of a load says which load it is, and so does a rate.
  const bool rated = std::any_of(varied.begin(), varied.end(), [](const std::string& name) {
    return name == "arrival_rate" || canonical_name(name) == "arrival_rate";
  });
  if (rated && !s.arrival_rate) s.arrival_rate = 1.0 * (unit::request / unit::s);
  for (const Load load : {Load::concurrency, Load::rate, Load::burst}) {
    if (!(load == Load::rate ? rated : among(varied, name_of(load)))) continue;
    if (s.load && *s.load != load)
      throw InputError({.id = "mlsysim.engine.063",
                        .message = fmt::format("{} is no axis of another load", name_of(load)),
                        .key = "load",
                        .found = fmt::format("load {} and axis {}", name_of(*s.load), name_of(load)),
                        .expected = "one load",
                        .hint = fmt::format("leave out the load, or name the axis {}", name_of(*s.load))});
    s.load = load;
  }
  if (!s.unit_cost && among(varied, "unit_cost")) s.unit_cost = Money<>();
  if (!s.rent && among(varied, "rent")) s.rent = MoneyRate<>();
}

void set_title(Subject& out, const ResolvedScenario& r, std::span<const std::string> varied) {
  out.setting = setting_words(r, varied);
  out.title =
      fmt::format("{} on {}, {}{}", r.asked().workload->name, r.fleet().name, name_of(r.mode()), out.setting);
}

/// A subject without inputs and results.
Subject begun(const Scenario& scenario, const ResolvedScenario& r, std::span<const std::string> varied) {
  Subject out;
  out.estimates = [scenario] { return estimates_behind(scenario); };
  set_title(out, r, varied);
  out.entry.info = {.id = "Scenario",
                    .equation = "scorecard = f(scenario, device, network, facility, model)",
                    .source = "",
                    .where = "",
                    .assumptions = "one number at a time varies; the others stay"};
  return out;
}

}  // namespace

Subject subject_of(const Scenario& scenario, std::span<const std::string> varied) {
  NoteBook book;
  Notes notes(book);
  Scenario asked = scenario;
  // A field that varies is given: nothing may be derived from its absence.
  if (!asked.microbatch_count && among(varied, "microbatch_count")) asked.microbatch_count = 1;
  if (!asked.output_tokens && among(varied, "output_tokens")) asked.output_tokens = 1;
  // A limit of power or clock that varies starts from the device's own.
  const HardwareNode* device = asked.fleet != nullptr ? asked.fleet->node->accelerator : asked.hardware;
  if (!asked.power_cap && device != nullptr && (among(varied, "power_cap") || among(varied, "clock_limit")))
    asked.power_cap = device->power.tdp;
  // A degree that varies may be at one with which there is no plan: it is prepared at 1, and then put back.
  constexpr std::array<std::pair<std::string_view, double Scenario::*>, 4> degrees{
      {{"pp_size", &Scenario::pp_size},
       {"ep_size", &Scenario::ep_size},
       {"cp_size", &Scenario::cp_size},
       {"v_stages", &Scenario::v_stages}}};
  for (const auto& [name, degree] : degrees)
    if (among(varied, name)) asked.*degree = 1;
  give_free(asked, varied);
  const ResolvedScenario r(asked, notes);
  Subject out = begun(scenario, r, varied);
  if (detail::is_whole_pass(r)) {
    use_scorecard(out, r);
    return out;
  }
  const auto state = use_problem(out, r, varied, notes);
  for (const auto& [name, degree] : degrees)
    if (const auto* f = among(varied, name) ? find_field(out.entry.inputs, name) : nullptr; f != nullptr)
      out.point[static_cast<std::size_t>(f - out.entry.inputs.data())] = scenario.*degree;
  // A plan that no axis can mend is refused as eval refuses it, which also says why.
  if (!plan_varies(*state->law, varied) && out.entry(out.point)[out.result("plan_fits")] != 1)
    (void)detail::memory_needed(r);
  for (auto& a : book.assumptions) {
    const bool known = std::any_of(out.assumptions.begin(), out.assumptions.end(), [&](const Assumption& b) {
      return a.name == b.name && a.value == b.value;
    });
    if (!known) out.assumptions.push_back(std::move(a));
  }
  out.warnings = std::move(book.warnings);
  out.unmeasured = unmeasured_words(out.assumptions, r.hardware().name);
  if (!out.unmeasured.empty()) out.warnings.insert(out.warnings.begin(), out.unmeasured);
  return out;
}

struct detail::ScenarioPoint::Known {
  std::shared_ptr<const MovingScenario> state;
  std::vector<bool> plan;  ///< per input of the law, whether the plan hangs on it
};

detail::ScenarioPoint::ScenarioPoint(const Scenario& scenario) : base_(subject_of(scenario)) {
  if (!base_.derive || base_.entry(base_.point)[base_.result("plan_fits")] != 1) return;
  auto state = std::static_pointer_cast<const MovingScenario>(base_.entry.self);
  auto plan = state->law->inputs_of(state->law->result("plan_fits"));
  known_ = std::make_unique<Known>(std::move(state), std::move(plan));
}
detail::ScenarioPoint::~ScenarioPoint() = default;

std::vector<double> detail::ScenarioPoint::at(const Scenario& moved) const {
  if (!known_) {
    // A figure that a class gave and that is now stated stands elsewhere among the inputs.
    const Subject other = subject_of(moved);
    std::vector<double> out = base_.point;
    for (std::size_t i = 0; i < out.size(); ++i)
      if (const auto* f = find_field(other.entry.inputs, base_.entry.inputs[i].name); f != nullptr)
        out[i] = other.point[static_cast<std::size_t>(f - other.entry.inputs.data())];
    return out;
  }
  Notes quiet;
  const auto problem = settle(ResolvedScenario(moved, quiet), quiet);
  const auto& [state, plan] = *known_;
  if (problem_law(problem) != state->law) return subject_of(moved).point;
  const auto leaves = problem_leaves(problem);
  const auto same_inputs = [&](const auto& p) {
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const FieldInfo& f = state->law->inputs[i];
      if (leaves[i] == state->base[i] || !state->law->matters[i]) continue;
      if (plan[i] || may_move(p, f, leaves[i], {}) != may_move(p, f, state->base[i], {})) return false;
    }
    return true;
  };
  if (!std::visit(same_inputs, problem)) return subject_of(moved).point;
  std::vector<double> out;
  for (const auto i : state->inputs) out.push_back(leaves[i]);
  return out;
}

Subject subject_with(const Scenario& scenario, std::span<const std::string> inputs) {
  Scenario asked = scenario;
  give_free(asked, inputs);
  // Replicas that are as wide as the devices allow change with their number: no law at fixed degrees says it.
  if (among(inputs, "accelerators") && !asked.tp_size && asked.fleet == nullptr) {
    Notes quiet;
    if (const ResolvedScenario r(asked, quiet); r.mode() == Mode::serve) {
      Subject out = begun(asked, r, inputs);
      use_scorecard(out, r);
      return out;
    }
  }
  auto out = subject_of(asked);
  std::vector<std::string> missing;
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(missing),
               [&](const std::string& name) { return find_field(out.entry.inputs, name) == nullptr; });
  if (!missing.empty()) out = subject_of(asked, missing);
  Notes quiet;
  set_title(out, ResolvedScenario(asked, quiet), inputs);
  return out;
}

}  // namespace mlsysim
