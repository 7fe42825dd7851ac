#include <mlsysim/resolver_api/solve_for.hpp>

#include <mlsysim/resolver_api/field_text.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <cmath>

namespace mlsysim::detail {

namespace {

std::string shown(const FieldInfo& field, double base) { return field_text(field, base); }

std::string question(const LawEntry& law, const FieldInfo& free, const FieldInfo& output,
                     const Target& target) {
  static constexpr std::string_view words[] = {"is", "is at most", "is at least"};
  return fmt::format("{} at which {} of {} {} {}", free.name, output.name, law.info.id,
                     words[static_cast<std::size_t>(target.relation)], shown(output, target.value.base()));
}

Infeasible refusal(const LawEntry& law, const FieldInfo& free, const FieldInfo& output, const Target& target,
                   const Inversion& found) {
  Infeasible why;
  why.reason = fmt::format("there is no {}", question(law, free, output, target));
  if (found.outcome == InverseOutcome::undefined) {
    why.smallest_change =
        fmt::format("{} is no finite number for any {}; change the other inputs", output.name, free.name);
  } else {
    // The reachable end that is nearer to the target.
    const double t = target.value.base();
    const bool low = std::abs(found.reachable_low - t) < std::abs(found.reachable_high - t);
    why.smallest_change = fmt::format("ask for {} = {}", output.name,
                                      shown(output, low ? found.reachable_low : found.reachable_high));
    why.facts.push_back({"reachable", fmt::format("{} to {}", shown(output, found.reachable_low),
                                                  shown(output, found.reachable_high))});
  }
  why.facts.push_back({"searched", fmt::format("{} from {} to {}", free.name, shown(free, found.low),
                                               shown(free, found.high))});
  why.facts.push_back({"method", std::string(describe_method(found.method))});
  return why;
}

}  // namespace

Outcome<Solved> solve_backwards(const LawEntry& law, std::vector<double> in, std::string_view free,
                                const Target& target, std::vector<Required> only) {
  InverseQuery query;
  query.only = std::move(only);
  query.free = law.input(free);
  query.result = law.result(target.output);
  query.relation = target.relation;
  query.target = target.value.base();
  const auto& field = law.inputs[query.free];
  const auto& output = law.results[query.result];
  if (!(target.value.exponents() == output.exps))
    throw DimensionError({.id = "mlsysim.resolve.021",
                          .message = fmt::format("the target of '{}' has another dimension", output.name),
                          .key = output.name,
                          .found = dimension_name(target.value.exponents()),
                          .expected = dimension_name(output.exps)});
  Solved solved;
  solved.free = query.free;
  solved.inversion = invert(law, in, query);
  const auto& found = solved.inversion;
  // A jump over the target is no solution: the law never takes that value.
  const Solution* first = nullptr;
  for (const auto& s : found.solutions)
    if (!s.jump && first == nullptr) first = &s;
  if (first == nullptr && found.outcome != InverseOutcome::everywhere)
    return refusal(law, field, output, target, found);
  if (found.outcome == InverseOutcome::everywhere)
    solved.value = first != nullptr ? first->low : found.low;
  else if (target.relation == Relation::equals)
    solved.value = first->low;
  else if (field.integral)
    solved.value = first->below ? first->low : first->high;
  // The answer is the end of the range where the target stops being met; the other end is only the edge of
  // the domain.
  else
    solved.value = first->low > found.low ? first->low : first->high;
  in[query.free] = solved.value;
  const auto at = [&](double x) {
    auto moved = in;
    moved[query.free] = x;
    return law(moved)[query.result];
  };
  if (field.integral && target.relation != Relation::equals) {
    const auto meets = [&](double value) {
      return target.relation == Relation::at_most ? value <= query.target : value >= query.target;
    };
    const auto next = first == nullptr ? std::nullopt : first->below ? first->below : first->above;
    solved.verification.checks.push_back(
        Check::threshold(output.name, solved.value, meets(at(solved.value)), next && meets(at(*next))));
  } else if (target.relation == Relation::equals) {
    solved.verification.checks.push_back(
        Check::equal(output.name, target.value, AnyQuantity::from_base(at(solved.value), output.exps)));
  } else if (const double there = at(solved.value);
             std::abs(there - query.target) <= 1e-9 * std::abs(query.target)) {
    // The answer is where the limit starts or stops being met: put back, it hits the limit.
    solved.verification.checks.push_back(
        Check::equal(output.name, target.value, AnyQuantity::from_base(there, output.exps)));
  } else {
    solved.verification.not_checked = "the limit is met with a margin";
  }
  return solved;
}

}  // namespace mlsysim::detail
