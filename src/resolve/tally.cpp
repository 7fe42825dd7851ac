#include <mlsysim/resolve/tally.hpp>

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
                     .hint = "return {.skip = \"reason\"} for a candidate that cannot be judged"});
}

std::string shown(double base, const Exponents& exps) {
  return pretty(AnyQuantity::from_base(base, exps), 6);
}

}  // namespace

bool Tally::admit(double objective, const InlineList<Constraint, 8>& constraints, std::string_view skip,
                  const Namer& name) {
  ++total_;
  if (!skip.empty()) {
    ++skipped_;
    const auto known =
        std::find_if(reasons_.begin(), reasons_.end(), [&](const auto& r) { return r.reason == skip; });
    if (known == reasons_.end())
      reasons_.push_back({std::string(skip), 1});
    else
      known->count += 1;
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
    ++feasible_;
    return true;
  }
  ++infeasible_;
  if (missed == 1)
    miss_one(objective, constraints[which], name);
  else
    miss_many(constraints, name);
  return false;
}

void Tally::miss_one(double objective, const Constraint& c, const Namer& name) {
  auto limit = std::find_if(limits_.begin(), limits_.end(), [&](const Limit& l) { return l.name == c.name; });
  if (limit == limits_.end()) limit = limits_.insert(limits_.end(), {c.name, c.exps, c.sense, {}, {}});
  const double excess = c.excess();
  if (objective < limit->best.objective) limit->best = {objective, excess, c.value, c.limit, name()};
  if (excess < limit->nearest.excess) limit->nearest = {objective, excess, c.value, c.limit, name()};
}

void Tally::miss_many(const InlineList<Constraint, 8>& constraints, const Namer& name) {
  double excess = 0;
  for (std::size_t i = 0; i < constraints.size(); ++i) excess += constraints[i].excess();
  if (!(excess < nearest_of_many_)) return;
  nearest_of_many_ = excess;
  many_names_.clear();
  many_text_.clear();
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const auto& c = constraints[i];
    if (c.met()) continue;
    if (!many_names_.empty()) many_names_ += " and ", many_text_ += " and ";
    many_names_ += c.name;
    many_text_ += relaxation({c.name, c.exps, c.sense, {}, {}}, {0, 0, c.value, c.limit, {}});
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
    if (feasible_ + infeasible_ == 0)
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
  if (!(objective < best_)) return false;
  best_ = objective;
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
  s.total_ = static_cast<double>(total_);
  s.feasible_ = static_cast<double>(feasible_);
  s.infeasible_ = static_cast<double>(infeasible_);
  s.skipped_ = static_cast<double>(skipped_);
  s.reasons_ = reasons_;
  s.cancelled_ = cancelled_;
  s.exactness_ = cancelled_ ? Exactness::heuristic : Exactness::enumerated;
  s.exps_ = exps_;
  s.objective_unit_ = canonical_unit(exps_);
  if (!best_name_.empty()) {
    s.objective_value_ = sign_ * best_;
    s.best_ = best_name_;
  }
  // With a feasible candidate, a constraint binds when its relaxation alone admits a better one; the one that
  // admits the best counts. Without any, the one that has to move least.
  const Limit* binding = nullptr;
  const Miss* miss = nullptr;
  for (const auto& limit : limits_) {
    const Miss& m = feasible_ > 0 ? limit.best : limit.nearest;
    if (feasible_ > 0 && !(m.objective < best_)) continue;
    const bool better =
        miss == nullptr || (feasible_ > 0 ? m.objective < miss->objective : m.excess < miss->excess);
    if (!better) continue;
    binding = &limit;
    miss = &m;
  }
  if (binding != nullptr) {
    s.binding_ = binding->name;
    s.relaxation_ = relaxation(*binding, *miss);
  } else if (feasible_ == 0) {
    s.binding_ = many_names_;
    s.relaxation_ = many_text_;
  }
  return s;
}

}  // namespace mlsysim::detail
