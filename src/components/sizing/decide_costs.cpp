#include "sizing/detail/decide_costs.hpp"

#include "sizing/detail/size_units.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace mlsysim::detail {
namespace {

/// Errors of times are known no better.
constexpr double kNarrow = 1.0001;

using PartOf = std::function<RegretPart(double low, double high)>;

/// Parts of a range, the one with the largest bound split again and again.
std::vector<RegretPart> branched(double low, double high, std::size_t most_parts, double narrow,
                                 const PartOf& part_of) {
  std::vector<RegretPart> out{part_of(low, high)};
  const auto splits = [&](const RegretPart& p) { return p.bound > 0 && p.high / p.low > narrow; };
  while (out.size() < most_parts) {
    const auto worst = std::ranges::max_element(out, {}, &RegretPart::bound);
    if (!splits(*worst)) break;
    const double middle = std::sqrt(worst->low * worst->high);
    const RegretPart left = part_of(worst->low, middle), right = part_of(middle, worst->high);
    if (std::max(left.bound, right.bound) >= worst->bound * (1 - 1e-9) && worst->high / worst->low < narrow)
      break;
    *worst = left;
    out.push_back(right);
  }
  std::ranges::sort(out, {}, &RegretPart::low);
  return out;
}

SizeQuestion asked_of(SizeQuestion question, const Scenario& machine) {
  question.scenario = machine;
  return question;
}

/// Two costs without an end are no regret.
double more_than(double cost, double other) { return cost > other ? cost - other : 0.0; }

}  // namespace

Costs::Costs(const SizeQuestion& question, const DecideOption& option, const Scenario& machine, double price)
    : question_(asked_of(question, machine)),
      needed_(question_, [](VariedQuestion& varied, double x) { varied.time_factor = x; }),
      name_(option.machine),
      device_(Machines(machine).device().name),
      price_(price) {}

CostAt Costs::at(double factor) {
  const auto known = seen_.find(factor);
  if (known != seen_.end()) return known->second;
  const auto needed = needed_.at(factor);
  CostAt out{.machine = name_,
             .factor = factor,
             .devices = needed.devices,
             .cost = std::isfinite(needed.devices) ? needed.devices * price_ : needed.devices,
             .plan = needed.plan,
             .pools = needed.pools};
  return seen_.emplace(factor, out).first->second;
}

Regret certified(std::vector<Costs>& costs, const ErrorBox& box, std::size_t most_parts) {
  Regret out;
  if (costs.size() < 2) return out;
  const auto part_with = [&](double low, double high, bool same) {
    RegretPart part{
        .low = low, .high = high, .choice = costs[0].at(same ? high : box.highest(0, high)), .other = {}};
    part.other.cost = std::numeric_limits<double>::infinity();
    for (std::size_t i = 1; i < costs.size(); ++i)
      if (same == (costs[i].device() == costs[0].device()))
        if (const CostAt c = costs[i].at(same ? low : box.lowest(i, low)); c.cost < part.other.cost)
          part.other = c;
    part.bound = more_than(part.choice.cost, part.other.cost);
    return part;
  };
  const auto others = [&](bool same) {
    return std::any_of(costs.begin() + 1, costs.end(),
                       [&](const Costs& c) { return same == (c.device() == costs[0].device()); });
  };
  if (others(false))
    out.parts = branched(box.common_low, box.common_high, most_parts, 1.01,
                         [&](double low, double high) { return part_with(low, high, false); });
  if (others(true))
    out.same_device = branched(box.lowest(0, box.common_low), box.highest(0, box.common_high), 2 * most_parts,
                               kNarrow, [&](double low, double high) {
                                 if (high / low > kNarrow) return part_with(low, high, true);
                                 const auto at_low = part_with(low, low, true),
                                            at_high = part_with(high, high, true);
                                 auto part = at_high.bound > at_low.bound ? at_high : at_low;
                                 part.low = low;
                                 part.high = high;
                                 return part;
                               });
  for (const auto* parts : {&out.parts, &out.same_device})
    for (const auto& p : *parts) out.value = std::max(out.value, p.bound);
  return out;
}

QuotientRange quotient_range(std::vector<Costs>& costs, const ErrorBox& box, std::size_t i) {
  if (i == 0) return {};
  constexpr double without_end = std::numeric_limits<double>::infinity();
  // A choice that costs nothing is told from all that cost something.
  if (costs[0].at(1).cost == 0)
    return {.low = costs[i].at(1).cost > 0 ? without_end : 0, .high = without_end};
  const auto cost = [&](std::size_t k, double factor) { return costs[k].at(factor).cost; };
  if (costs[i].device() == costs[0].device()) {
    constexpr int steps = 32;
    const double low = box.lowest(0, box.common_low), high = box.highest(0, box.common_high);
    QuotientRange out{.low = std::numeric_limits<double>::infinity(), .high = 0};
    for (int k = 0; k <= steps; ++k) {
      const double x = low * std::pow(high / low, static_cast<double>(k) / steps);
      const double quotient = cost(i, x) / cost(0, x);
      if (std::isnan(quotient)) continue;  // neither meets the limits
      out = {.low = std::min(out.low, quotient), .high = std::max(out.high, quotient)};
    }
    if (out.low > out.high) return {.low = 0, .high = std::numeric_limits<double>::infinity()};
    return out;
  }
  const auto growth = [&](std::size_t k, double factor) {
    return std::log(costs[k].at(factor).devices / costs[k].at(1).devices);
  };
  const double quotient = cost(i, 1) / cost(0, 1);
  return {.low = quotient * std::exp(-std::hypot(growth(i, box.low[i]), growth(0, box.high[0]))),
          .high = quotient * std::exp(std::hypot(growth(i, box.high[i]), growth(0, box.low[0])))};
}

}  // namespace mlsysim::detail
