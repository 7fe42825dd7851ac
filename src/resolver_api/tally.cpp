#include <mlsysim/resolver_api/tally.hpp>

#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {

namespace {

[[noreturn]] void not_finite(std::string_view what, double value, const Namer& name) {
  throw DomainError({.id = "mlsysim.resolve.003",
                     .message = fmt::format("the score of candidate '{}' is not finite", name()),
                     .key = std::string(what),
                     .found = fmt::format("{} = {}", what, value),
                     .expected = "a finite number",
                     .hint = "return {.skip = \"reason\"} for a candidate that cannot be judged",
                     .reason = BreakReason::numeric});
}

std::string shown(double base, const Exponents& exps) {
  return pretty(AnyQuantity::from_base(base, exps), 6);
}

}  // namespace

bool Tally::admit(double objective, const InlineList<Constraint, 8>& constraints, std::string_view skip,
                  const Namer& name) {
  if (!skip.empty()) {
    counts_.skip(skip);
    return false;
  }
  std::size_t missed = 0, which = 0;
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    if (!std::isfinite(constraints[i].value) || !std::isfinite(constraints[i].limit))
      not_finite(constraints[i].name, constraints[i].value, name);
    if (constraints[i].met()) continue;
    ++missed;
    which = i;
  }
  if (missed == 0) {
    counts_.feasible += 1;
    return true;
  }
  counts_.infeasible += 1;
  if (missed == 1)
    miss_one(objective, constraints[which], name);
  else
    miss_many(constraints, name);
  return false;
}

void Tally::miss_one(double objective, const Constraint& c, const Namer& name) {
  auto limit = std::find_if(limits_.begin(), limits_.end(), [&](const Limit& l) { return l.name == c.name; });
  if (limit == limits_.end())
    limit = limits_.insert(limits_.end(), {.name = c.name, .exps = c.exps, .sense = c.sense});
  limit->nearest.alone += 1;
  if (limit->best.add(objective, name.index)) limit->best_miss = {c.value, c.limit, name()};
  if (limit->nearest.take(c.excess(), c.value, name.index)) limit->nearest_miss = {c.value, c.limit, name()};
}

void Tally::miss_many(const InlineList<Constraint, 8>& constraints, const Namer& name) {
  double excess = 0;
  for (std::size_t i = 0; i < constraints.size(); ++i) excess += constraints[i].excess();
  if (!nearest_of_many_.take(excess, 0, name.index)) return;
  many_names_.clear();
  many_text_.clear();
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const auto& c = constraints[i];
    if (c.met()) continue;
    if (!many_names_.empty()) many_names_ += " and ", many_text_ += " and ";
    many_names_ += c.name;
    many_text_ += relaxation({.name = c.name, .exps = c.exps, .sense = c.sense}, {c.value, c.limit, {}});
  }
  many_text_ += fmt::format(" admits '{}'", name());
}

std::string Tally::relaxation(const Limit& limit, const Miss& miss) {
  auto text = fmt::format("{} {} {} instead of {}", limit.name,
                          limit.sense == Sense::at_least ? "at least" : "at most",
                          shown(miss.value, limit.exps), shown(miss.limit, limit.exps));
  if (!miss.candidate.empty()) text += fmt::format(" admits '{}'", miss.candidate);
  return text;
}

bool Tally::count(const Score& score, const Namer& name) {
  if (score.skip.empty()) {
    if (!std::isfinite(score.objective.base)) not_finite("objective", score.objective.base, name);
    if (counts_.feasible + counts_.infeasible == 0)
      exps_ = score.objective.exps;
    else if (!(exps_ == score.objective.exps))
      throw DimensionError(
          {.id = "mlsysim.resolve.004",
           .message =
               fmt::format("the objective of candidate '{}' has another dimension than those before", name()),
           .key = "objective",
           .found = dimension_name(score.objective.exps),
           .expected = dimension_name(exps_)});
  }
  const double objective = sign_ * score.objective.base;
  if (!admit(objective, score.constraints, score.skip, name)) return false;
  if (!best_.add(objective, name.index)) return false;
  best_name_ = name();
  return true;
}

bool Tally::count(const ParetoScore& score, const Namer& name) {
  for (std::size_t i = 0; score.skip.empty() && i < score.objectives.size(); ++i)
    if (!std::isfinite(score.objectives[i].base)) not_finite("objective", score.objectives[i].base, name);
  return admit(0, score.constraints, score.skip, name);
}

SearchSummary Tally::summary() const {
  SearchSummary s;
  s.total_ = counts_.total();
  s.feasible_ = counts_.feasible;
  s.infeasible_ = counts_.infeasible;
  s.skipped_ = counts_.skipped;
  for (const auto& r : counts_.reasons_in_order()) s.reasons_.push_back({r.reason, r.points});
  s.cancelled_ = cancelled_;
  s.exactness_ = cancelled_ ? Exactness::heuristic : Exactness::enumerated;
  s.exps_ = exps_;
  s.objective_unit_ = canonical_unit(exps_);
  if (!best_name_.empty()) {
    s.objective_value_ = sign_ * best();
    s.best_ = best_name_;
  }
  // With a feasible candidate, a constraint binds when its relaxation alone admits a better one; the one that
  // admits the best counts. Without any, the one that has to move least.
  const bool found = counts_.feasible > 0;
  const auto how_good = [&](const Limit& l) { return found ? l.best.threshold() : l.nearest.excess; };
  const Limit* binding = nullptr;
  for (const auto& limit : limits_) {
    if (found && !(limit.best.threshold() < best())) continue;
    if (binding == nullptr || how_good(limit) < how_good(*binding)) binding = &limit;
  }
  if (binding != nullptr) {
    s.binding_ = binding->name;
    s.relaxation_ = relaxation(*binding, found ? binding->best_miss : binding->nearest_miss);
  } else if (!found) {
    s.binding_ = many_names_;
    s.relaxation_ = many_text_;
  }
  return s;
}

}  // namespace mlsysim::detail
