// A scenario as a law from its numbers to its scorecard.

#include "explore/subject/spec_figures.hpp"

#include <mlsysim/catalogue/detail/once.hpp>
#include <mlsysim/engine/detail/prepared.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/requests.hpp>
#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/engine/scenario_laws.hpp>
#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/tape/record.hpp>
#include <mlsysim/units/any_quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim {
namespace {

bool among(std::span<const std::string> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
bool among(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Results in which the price of the devices is.
constexpr std::array<std::string_view, 4> kPriced{"tco", "capex", "maintenance", "cost_per_token"};
/// A scenario whose numbers move while its categories stay.
struct MovingScenario {
  ScenarioShape shape;
  std::shared_ptr<const ScenarioLaw> law;
  std::shared_ptr<const ScenarioLeaves> leaves;
  std::vector<double> base;            ///< all inputs of the law
  std::vector<std::uint16_t> inputs;   ///< those that move
  std::vector<std::uint16_t> results;  ///< those that are listed

  /// All inputs of the law at a point.
  [[nodiscard]] std::vector<double> spread(const double* in) const {
    auto all = base;
    for (std::size_t i = 0; i < inputs.size(); ++i) all[inputs[i]] = in[i];
    return all;
  }
  void run(const double* in, double* out) const {
    const auto all = spread(in);
    const auto found = scenario_numbers(shape, leaves->write<double>(all));
    std::vector<double> numbers(leaf_count<ScenarioResults<>>);
    read_leaves(found, [&](std::size_t i, double x) { numbers[i] = x; });
    for (std::size_t i = 0; i < results.size(); ++i) out[i] = numbers[results[i]];
  }
  /// From the inputs that move to the results that are listed; made when it is first asked for.
  [[nodiscard]] const Tape& tape() const {
    made_.call([&] {
      tape_ = record_tape(inputs.size(), [&](std::span<const Recorded> in) {
        std::vector<Recorded> all(base.begin(), base.end());
        for (std::size_t i = 0; i < inputs.size(); ++i) all[inputs[i]] = in[i];
        const auto found = replay(law->tape(), all);
        std::vector<Recorded> out;
        for (const auto r : results) out.push_back(found[r]);
        return out;
      });
    });
    return tape_;
  }

 private:
  mutable detail::Once made_;
  mutable Tape tape_;
};

/// Why a device whose power or price is not known lacks results. A search must not take a price for nothing.
std::string without_power(const std::string& device) { return fmt::format("no TDP is known for {}", device); }
std::string without_price(const std::string& device) {
  return fmt::format("the price of {} is not known; unit_cost gives one", device);
}

/// Names the macro results that a device of this shape lacks, with the reason.
void say_what_is_absent(Subject& out, bool has_power, bool has_price, const std::string& device) {
  for (const auto& f : describe<MacroNumbers<>>()) {
    if (!has_power && f.name != "utilization")
      out.absent.emplace_back(f.name, without_power(device));
    else if (!has_price && among(kPriced, f.name))
      out.absent.emplace_back(f.name, without_price(device));
  }
}

/// Whether a number that matters is also one to be moved, and what that hangs on.
enum class Moves : std::uint8_t { always, never, sizes, stated, host_shares, seq_len, cached_prefix };

Moves moves(std::string_view path) {
  for (const std::string_view sizes : {"workload.", "draft_model.", "totals.", "draft."})
    if (path.starts_with(sizes)) return Moves::sizes;
  if (path == "plan.rank_imbalance") return Moves::stated;
  if (path.starts_with("plan.offload_")) return Moves::host_shares;
  if (path.starts_with("limits.")) return Moves::never;
  if (path == "run.prefill_chunk_tokens") return Moves::never;  // it decides how many parts a prompt has
  if (path == "run.seq_len") return Moves::seq_len;
  if (path == "run.cached_prefix_len") return Moves::cached_prefix;
  return Moves::always;
}

bool may_move(const ScenarioShape& s, Moves moves, double value) {
  switch (moves) {
    // A size that is 0 does not occur; moving it would add a part that the structure does not have.
    case Moves::sizes:
      return s.sequences && value != 0;
    // 0 stands for what nobody stated.
    case Moves::stated:
      return value != 0;
    // Shares in host memory are numbers only where the lowering moves something there.
    case Moves::host_shares:
      return s.prefill.offloads;
    case Moves::seq_len:
      return s.sequences && !s.divided;
    case Moves::cached_prefix:
      return !s.divided;
    case Moves::never:
      return false;
    case Moves::always:
      break;
  }
  return true;
}

/// Numbers of Scenario are described by its own table; neither they nor the macro figures need a prefix to be
/// unique.
FieldInfo public_field(const FieldInfo& f, ScenarioKind kind) {
  const auto name = input_name(f.name, kind);
  if (const auto* own = name != f.name ? find_field(describe<Scenario>(), name) : nullptr; own != nullptr) {
    FieldInfo out = *own;
    out.nullable = false;
    return out;
  }
  FieldInfo out = f;
  // Sizes of a model and of a machine's parts are counts, though the lowering may price fractions of them.
  out.integral = out.integral ||
                 (f.kind == ValueKind::number && name.starts_with("links.level") && name.ends_with(".peers"));
  if (name.starts_with("conventions.")) out.name = std::string(name);
  return out;
}

/// What users see of the laws of one kind of scenario but for the sizes of its models: the same for every
/// structure, so it is made once.
struct PublicTable {
  std::vector<FieldInfo> inputs, results;
  std::vector<Moves> moves;           ///< of the inputs
  std::vector<bool> powered, priced;  ///< results that rest on the power or the price of a device
  std::vector<std::uint16_t> first;  ///< per result the first of its name: results of one name are one number

  explicit PublicTable(ScenarioKind kind) {
    for (const auto& f : describe<ScenarioFigures<>>()) {
      inputs.push_back(public_field(f, kind));
      moves.push_back(mlsysim::moves(f.name));
    }
    const auto names = describe<ScenarioResults<>>();
    std::map<std::string_view, std::uint16_t> seen;
    for (const auto& f : names) {
      const auto name = reported_name(f.name);
      const auto at = static_cast<std::uint16_t>(results.size());
      results.push_back(f);
      results.back().name = std::string(name);
      powered.push_back(name == "energy_per_batch" ||
                        (name != "utilization" && find_field(describe<MacroNumbers<>>(), name) != nullptr));
      priced.push_back(among(kPriced, name));
      first.push_back(seen.try_emplace(name, at).first->second);
    }
  }
};

const PublicTable& public_table(ScenarioKind kind) {
  static const std::array tables{PublicTable(ScenarioKind::inference), PublicTable(ScenarioKind::serving),
                                 PublicTable(ScenarioKind::training)};
  return tables[static_cast<std::size_t>(kind)];
}

/// Whether one of the names is a number that `plan_fits` hangs on.
bool plan_varies(std::span<const std::string> varied) {
  static constexpr std::array<std::string_view, 11> counts{"accelerators",
                                                           "tp_size",
                                                           "pp_size",
                                                           "ep_size",
                                                           "cp_size",
                                                           "v_stages",
                                                           "seq_len",
                                                           "cached_prefix_len",
                                                           "batch_size",
                                                           "microbatch_size",
                                                           "gradient_accumulation_steps"};
  return std::any_of(varied.begin(), varied.end(), [](const std::string& name) {
    return among(counts, name) || name.starts_with("workload.") || name.starts_with("shape.");
  });
}

/// A device has a rate, and a share that products sustain, for each format. The inputs are those of the
/// format that the scenario computes in.
void name_formats(std::vector<FieldInfo>& inputs, const ResolvedScenario& r, const ScenarioShape& shape) {
  const Precision precision = detail::precision_of(r);
  for (auto& f : inputs) {
    if (f.name == "hardware.compute.dense") f.name += fmt::format(".{}", name_of(precision));
    if (f.name == "hardware.efficiency.matrix" && shape.pricing->lists_operators() &&
        bytes_per_element(precision) <= 1)
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

/// Fills the entry of a scenario that one evaluator answers.
void use_evaluator(Subject& out, const ResolvedScenario& r, Notes& notes) {
  auto state = std::make_shared<MovingScenario>();
  const auto prepared = prepare(r, notes);
  state->shape = prepared.shape;
  state->law = scenario_law(prepared.shape);
  state->leaves = std::make_shared<const ScenarioLeaves>(prepared.shape);
  state->base = state->leaves->read(prepared.inputs);
  const ScenarioLaw& law = *state->law;
  const ScenarioShape& shape = state->shape;
  const PublicTable& known = public_table(shape.kind);
  const std::size_t many = law.inputs.size();
  out.entry.inputs.reserve(many);
  for (std::size_t i = 0; i < many; ++i) {
    const bool figure = i < known.inputs.size();
    if (!law.matters[i] || !may_move(shape, figure ? known.moves[i] : Moves::sizes, state->base[i])) continue;
    state->inputs.push_back(static_cast<std::uint16_t>(i));
    out.entry.inputs.push_back(figure ? known.inputs[i] : law.inputs[i]);
    out.point.push_back(state->base[i]);
    admit(out.entry.inputs.back(), state->base[i]);
  }
  out.entry.results.reserve(law.reported.size());
  std::vector<bool> listed(law.results.size());
  for (const auto i : law.reported) {
    if (listed[known.first[i]] || (known.powered[i] && !shape.has_power) ||
        (known.priced[i] && !shape.has_price))
      continue;
    listed[known.first[i]] = true;
    state->results.push_back(i);
    out.entry.results.push_back(known.results[i]);
  }
  name_formats(out.entry.inputs, r, shape);
  say_what_is_absent(out, shape.has_power, shape.has_price, r.hardware().name);
  if (shape.kind == ScenarioKind::inference && !shape.has_power)
    out.absent.emplace_back("energy_per_batch", without_power(r.hardware().name));
  out.entry.evaluate = [](const void* self, const double* in, double* to) {
    static_cast<const MovingScenario*>(self)->run(in, to);
  };
  out.entry.recorded = [](const void* self) -> const Tape& {
    return static_cast<const MovingScenario*>(self)->tape();
  };
  out.entry.self = state;
  out.derive = [state](std::span<const double> point, std::size_t result, std::span<const std::string> open) {
    return derive_scenario(*state->law, state->shape.kind, state->spread(point.data()),
                           state->results[result], open);
  };
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
    if (f.name == "tp_size" && r.mode() != Mode::infer) v = r.tp_size();
    if (f.name == "seq_len") v = r.seq_len();
    if (!std::holds_alternative<double>(v)) continue;
    card->inputs.push_back(f);
    out.point.push_back(std::get<double>(v));
  }
  card->figures = detail::SpecFigures(describe<Scenario>(), &card->scenario);
  out.point.insert(out.point.end(), card->figures.point().begin(), card->figures.point().end());
  const bool has_power = r.hardware().power.tdp.has_value(),
             has_price = r.asked().unit_cost.has_value() || r.hardware().unit_cost.has_value();
  say_what_is_absent(out, has_power, has_price, r.hardware().name);
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

}  // namespace

Subject subject_of(const Scenario& scenario, std::span<const std::string> varied) {
  NoteBook book;
  Notes notes(book);
  Scenario asked = scenario;
  // A field that varies is given: nothing may be derived from its absence.
  if (!asked.microbatch_count && among(varied, "microbatch_count")) asked.microbatch_count = 1;
  if (!asked.output_tokens && among(varied, "output_tokens")) asked.output_tokens = 1;
  if (!asked.unit_cost && among(varied, "unit_cost")) asked.unit_cost = Money<>();
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
  const ResolvedScenario r(asked, notes);
  Subject out;
  out.estimates = [scenario] { return estimates_behind(scenario); };
  out.title = fmt::format("{} on {}, {}", asked.workload->name, r.fleet().name, name_of(r.mode()));
  out.entry.info = {.id = "Scenario",
                    .equation = "scorecard = f(scenario, device, network, facility, model)",
                    .source = "",
                    .where = "",
                    .assumptions = "one number at a time varies; the others stay"};
  if (detail::is_whole_pass(r)) {
    use_scorecard(out, r);
    return out;
  }
  use_evaluator(out, r, notes);
  for (const auto& [name, degree] : degrees)
    if (const auto* f = among(varied, name) ? find_field(out.entry.inputs, name) : nullptr; f != nullptr)
      out.point[static_cast<std::size_t>(f - out.entry.inputs.data())] = scenario.*degree;
  // A plan that no axis can mend is refused as eval refuses it, which also says why.
  if (!plan_varies(varied) && out.entry(out.point)[out.result("plan_fits")] != 1)
    (void)detail::memory_needed(r);
  for (auto& a : book.assumptions) {
    const bool known = std::any_of(out.assumptions.begin(), out.assumptions.end(), [&](const Assumption& b) {
      return a.name == b.name && a.value == b.value;
    });
    if (!known) out.assumptions.push_back(std::move(a));
  }
  out.warnings = std::move(book.warnings);
  return out;
}

Subject subject_with(const Scenario& scenario, std::span<const std::string> inputs) {
  auto out = subject_of(scenario);
  std::vector<std::string> missing;
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(missing),
               [&](const std::string& name) { return find_field(out.entry.inputs, name) == nullptr; });
  return missing.empty() ? out : subject_of(scenario, missing);
}

}  // namespace mlsysim
