#include <mlsysim/ops/regression/results.hpp>

#include "ops/regression/budget_text.hpp"
#include "ops/regression/cell_subject.hpp"

#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/ops/graph_breaks/ingest.hpp>
#include <mlsysim/ops/regression/breaks.hpp>
#include <mlsysim/resolver_api/expression.hpp>
#include <mlsysim/resolver_api/input_guard.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <thread>

namespace mlsysim {
namespace {

/// A subject and all that it points to.
struct Kept {
  explicit Kept(const Zoo& zoo) : reader(zoo) {}
  FieldReader reader;
  BuiltScenario built;
  std::unique_ptr<Record> inputs;
  Subject subject;
};

std::shared_ptr<const Subject> lasting(std::shared_ptr<Kept> kept) {
  const auto* subject = &kept->subject;
  return {std::move(kept), subject};
}

std::shared_ptr<const Subject> scenario_subject(const MatrixCell& cell, const Zoo& zoo) {
  auto kept = std::make_shared<Kept>(zoo);
  ScenarioBuilder builder(zoo);
  builder.set("workload", cell.model).hardware(cell.hardware);
  if (cell.precision != "default") builder.set("precision", cell.precision);
  for (const auto& [field, text] : cell.fields) builder.set(field, text);
  kept->built = builder.build();
  kept->subject = subject_of(kept->built.scenario);
  return lasting(std::move(kept));
}

/// The inputs of a cell's resolver.
std::map<std::string, std::string> inputs_of(const MatrixCell& cell) {
  auto out = cell.fields;
  out["workload"] = cell.model;
  out["hardware"] = cell.hardware;
  if (cell.precision != "default") out["precision"] = cell.precision;
  return out;
}

std::shared_ptr<const Subject> subject_of_cell(const MatrixCell& cell, const Zoo& zoo, Damage damage) {
  if (!cell.records.empty()) {
    auto inputs = inputs_of(cell);
    const auto records = ingest({cell.records}, {.model = cell.model, .damage = damage});
    std::map<std::string, double> counts;
    for (const auto& p : break_places(records)) counts[p.name()] += p.after;
    Time<> time{};
    for (const auto& r : records.records) time = time + r.compile_time;
    if (time > Time<>()) inputs.try_emplace("compile_time", fmt::format("{} s", time / unit::s));
    return std::make_shared<const Subject>(break_subject(inputs, counts, zoo));
  }
  if (!cell.resolver.empty()) return detail::resolver_subject(cell.resolver, inputs_of(cell), zoo);
  return scenario_subject(cell, zoo);
}

void prepare(CellResult& to, const Zoo& zoo, Damage damage) {
  try {
    to.subject = subject_of_cell(to.cell, zoo, damage);
  } catch (const Error& error) {
    to.status = CellStatus::failed;
    to.reason = error.what();
    to.refused = error.id().ends_with("compile.008");  // a damaged log, refused by ingest()
    to.why = break_reason(std::current_exception());
  }
}

/// Values of inputs, then of results; empty where there is no answer.
std::vector<double> slots_of(CellResult& cell) {
  const auto& s = *cell.subject;
  std::vector<double> out = s.point;
  std::vector<double> results(s.entry.results.size());
  try {
    if (s.entry.attempt != nullptr)
      cell.reason = s.entry.attempt(s.entry.self.get(), s.point.data(), results.data());
    else
      s.entry.evaluate(s.entry.self.get(), s.point.data(), results.data());
  } catch (const Error& error) {
    cell.status = CellStatus::failed;
    cell.reason = error.what();
    cell.why = break_reason(std::current_exception());
    return {};
  }
  if (!cell.reason.empty()) {
    cell.status = CellStatus::infeasible;
    cell.why = BreakReason::infeasible_constraint;
    return {};
  }
  out.insert(out.end(), results.begin(), results.end());
  const auto* used = find_field(s.entry.results, "memory_utilization");
  if (used != nullptr) {
    const double share = results[static_cast<std::size_t>(used - s.entry.results.data())];
    if (share > 1) {
      cell.status = CellStatus::infeasible;
      cell.why = BreakReason::infeasible_memory;
      cell.reason = fmt::format("needs {:.4g} times the memory of a device", share);
      return {};
    }
  }
  return out;
}

/// A budget of one cell, ready to be asked.
struct AskedBudget {
  const CellBudget* budget;
  ConstraintExpression constraint;
};

/// The budgets of every cell. A budget that knows a name of no cell, or has another dimension, is a fault of
/// the matrix.
/// @param whole every cell is there; without them a name may be one of those that are missing
std::vector<std::vector<AskedBudget>> asked_budgets(const CiMatrix& matrix, const CiRun& run, bool whole) {
  std::vector<std::vector<AskedBudget>> out(run.cells.size());
  std::vector<ErrorFacts> problems;
  for (const auto& budget : matrix.budgets) {
    std::size_t asked = 0, selected = 0;
    std::optional<ErrorFacts> fault;
    for (std::size_t i = 0; i < run.cells.size(); ++i) {
      const auto& cell = run.cells[i];
      if (!detail::applies(budget, cell.cell)) continue;
      ++selected;
      if (cell.subject == nullptr) continue;
      try {
        const auto& entry = cell.subject->entry;
        out[i].push_back(
            {&budget, ConstraintExpression::parse(budget.constraint, {entry.inputs, entry.results})});
        ++asked;
      } catch (const LookupError& error) {
        if (!fault) fault = error.facts();  // a number that other pipelines have
      } catch (const Error& error) {
        fault = error.facts();
        asked = 0;
        break;
      }
    }
    if (selected == 0)
      fault = ErrorFacts{.id = "mlsysim.ci.010",
                         .message = fmt::format("the budget '{}' is for no cell", budget.text),
                         .found = "a pattern that no cell matches",
                         .expected = "names of the matrix",
                         .hint = "patterns are for whole names: Llama.*"};
    if (!fault || asked > 0) continue;
    fault->where = budget.where;
    fault->excerpt.clear();
    problems.push_back(std::move(*fault));
  }
  std::set<std::string> names;
  for (const auto& cell : run.cells) {
    names.insert(cell.results.begin(), cell.results.end());
    if (cell.subject != nullptr)
      for (const auto& f : cell.subject->entry.results) names.insert(f.name);
  }
  const std::vector<std::string> known(names.begin(), names.end());
  for (const auto& m : matrix.metrics)
    if (!known.empty() && !names.contains(m.name))
      problems.push_back(unknown_name("mlsysim.ci.011", fmt::format("no cell has the number '{}'", m.name),
                                      m.name, known, "a result of the pipelines", m.where));
  if (whole && !problems.empty())
    throw ErrorList(
        {.id = problems.front().id,
         .message = fmt::format("{} asks what cannot be answered: {} problem{}", matrix.file.string(),
                                problems.size(), problems.size() == 1 ? "" : "s"),
         .where = problems.front().where},
        problems);
  return out;
}

/// "itl" of "itl <= 30 ms".
std::string left_side(const std::string& constraint) {
  auto left = constraint.substr(0, constraint.find_first_of("<>="));
  while (left.ends_with(' ')) left.pop_back();
  return left;
}

void evaluate_cell(CellResult& cell, const CiMatrix& matrix, const std::vector<AskedBudget>& budgets,
                   std::vector<HeldBudget>& held, std::vector<HeldBudget>& broken) {
  const auto slots = slots_of(cell);
  if (slots.empty()) return;
  const auto& entry = cell.subject->entry;
  for (const auto& m : matrix.metrics) {
    const auto* field = find_field(entry.results, m.name);
    if (field == nullptr) continue;
    const double x = slots[entry.inputs.size() + static_cast<std::size_t>(field - entry.results.data())];
    if (std::isfinite(x)) cell.numbers.push_back({m.name, x, field->exps, std::string(field->unit)});
  }
  for (const auto& b : budgets) {
    const double left = b.constraint.left()(slots), right = b.constraint.right()(slots);
    held.push_back({cell.cell.name(), b.budget->text, left, right, b.constraint.left().exponents(),
                    left_side(b.budget->constraint)});
    if (!b.constraint.holds(left, right)) broken.push_back(held.back());
  }
}

/// Calls f(i) for all cells, on several threads where asked; stops between cells where cancelled.
template <class F>
std::size_t for_each_cell(std::size_t count, unsigned threads, const CancelToken* cancel, F&& f) {
  std::atomic<std::size_t> next{0}, done{0};
  const auto work = [&] {
    for (;;) {
      if (cancel != nullptr && cancel->requested()) return;
      const auto i = next.fetch_add(1);
      if (i >= count) return;
      f(i);
      done.fetch_add(1);
    }
  };
  std::vector<std::thread> others;
  for (unsigned t = 1; t < std::max(1U, threads); ++t) others.emplace_back(work);
  work();
  for (auto& t : others) t.join();
  return done.load();
}

}  // namespace

std::shared_ptr<const Subject> detail::resolver_subject(const std::string& name,
                                                        const std::map<std::string, std::string>& inputs,
                                                        const Zoo& zoo) {
  auto kept = std::make_shared<Kept>(zoo);
  const auto resolver = ResolverRegistry::standard().share(name);
  kept->inputs = std::make_unique<Record>(*resolver, Side::inputs);
  for (const auto& [key, text] : inputs) {
    const auto* field = find_field(resolver->inputs(), key);
    // set() names near misses where there is no such field
    kept->inputs->set(key, field != nullptr ? kept->reader.read(*field, text) : DynamicValue());
  }
  InputGuard(resolver->inputs()).check(kept->inputs->data(), name);
  kept->subject = subject_of(resolver, kept->inputs->data());
  return lasting(std::move(kept));
}

namespace {

/// Copies a known result into its cell. @return false where none is known that may be used again
bool is_known(CellResult& cell, const CiMatrix& matrix, const CiHow& how) {
  const auto at = how.known.find(cell.cell.name());
  if (at == how.known.end() || at->second.status == CellStatus::failed) return false;
  if (std::any_of(matrix.budgets.begin(), matrix.budgets.end(),
                  [&](const CellBudget& b) { return detail::applies(b, cell.cell); }))
    return false;
  auto known = at->second;
  known.cell = cell.cell;
  if (how.again && how.again(known)) return false;
  cell = std::move(known);
  return true;
}

}  // namespace

CiRun run_matrix(const CiMatrix& matrix, const Zoo& zoo, const CiHow& how) {
  CiRun run;
  for (const auto& cell : matrix.cells) run.cells.push_back({.cell = cell});
  const auto count = run.cells.size();
  std::vector<char> prepared(count, 0), reached(count, 0);
  const auto done = for_each_cell(count, how.threads, how.cancel, [&](std::size_t i) {
    reached[i] = is_known(run.cells[i], matrix, how) ? 1 : 0;
    if (reached[i] == 0) prepare(run.cells[i], zoo, how.damage);
    prepared[i] = 1;
  });
  const bool whole = done == count;
  const auto budgets = asked_budgets(matrix, run, whole);
  std::vector<std::vector<HeldBudget>> held(count), broken(count);
  // Cells that are prepared at the time of a stop are still evaluated, which takes microseconds.
  for_each_cell(count, how.threads, whole ? how.cancel : nullptr, [&](std::size_t i) {
    if (prepared[i] == 0 || reached[i] != 0) return;
    if (run.cells[i].subject != nullptr) evaluate_cell(run.cells[i], matrix, budgets[i], held[i], broken[i]);
    reached[i] = 1;
  });
  run.complete = std::all_of(reached.begin(), reached.end(), [](char c) { return c != 0; });
  std::vector<CellResult> kept;
  for (std::size_t i = 0; i < count; ++i) {
    if (reached[i] == 0) continue;
    kept.push_back(std::move(run.cells[i]));
    run.budgets.insert(run.budgets.end(), held[i].begin(), held[i].end());
    run.broken.insert(run.broken.end(), broken[i].begin(), broken[i].end());
  }
  run.cells = std::move(kept);
  return run;
}

}  // namespace mlsysim
