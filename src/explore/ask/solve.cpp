#include <mlsysim/explore/ask/solve.hpp>

#include <mlsysim/reflect/range.hpp>
#include <mlsysim/resolver_api/field_text.hpp>
#include <mlsysim/resolver_api/solve_for.hpp>
#include <mlsysim/units/detail/halving.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mlsysim {
namespace {

constexpr std::array<std::string_view, 6> kDegrees{"accelerators", "tp_size", "pp_size",
                                                   "ep_size",      "cp_size", "v_stages"};
constexpr double kMostDevices = 262144;  // fleets of more devices are not asked for

/// Limits of the prompt and its cached part: the other of the two is fixed.
void limit_prompt(LawEntry& entry, std::span<const double> point, std::size_t input) {
  FieldInfo& field = entry.inputs[input];
  const auto other = [&](std::string_view name, double otherwise) {
    const FieldInfo* f = find_field(entry.inputs, name);
    return f == nullptr ? otherwise : point[static_cast<std::size_t>(f - entry.inputs.data())];
  };
  if (field.name == "cached_prefix_len") field.high = std::min(field.high, other("seq_len", HUGE_VAL) - 1);
  if (field.name == "seq_len")
    field.low = std::max({field.low, other("cached_prefix_len", 0) + 1, other("cp_size", 1)});
}

/// Moves the answer to the last value of its range that fits in memory, and says so; degrees only hear that
/// they do not fit.
void keep_to_memory(const Subject& subject, std::size_t input, bool degree, SolveAnswer& answer) {
  const auto& results = subject.entry.results;
  const FieldInfo *used = find_field(results, "memory_used"),
                  *capacity = find_field(results, "memory_capacity");
  if (used == nullptr || capacity == nullptr || answer.result.name == used->name) return;
  const auto place = [&](const FieldInfo* f) { return static_cast<std::size_t>(f - results.data()); };
  const auto memory = [&](double x) {
    auto point = subject.point;
    point[input] = x;
    const auto found = subject.entry(point);
    return std::pair{found[place(used)], found[place(capacity)]};
  };
  const auto fits = [&](double x) {
    const auto [need, have] = memory(x);
    return !(need > have);
  };
  if (fits(answer.value)) return;
  const auto shown = [&](double x) { return field_text(answer.input, x, 6); };
  const auto [need, have] = memory(answer.value);
  const auto needs = fmt::format("{} needs {} of {}", shown(answer.value), field_text(*used, need, 4),
                                 field_text(*capacity, have, 4));
  for (const auto& s : answer.inversion.solutions) {
    if (degree || s.jump || answer.value < s.low || answer.value > s.high) continue;
    double bad = answer.value, good = answer.value == s.high ? s.low : s.high;
    if (!fits(good)) continue;
    const bool above = good < bad;
    if (answer.input.integral)
      good = detail::last_whole(good, bad, fits);
    else
      for (int i = 0; i < 200 && std::fabs(bad - good) > 1e-12 * std::fabs(bad); ++i) {
        const double middle = (good + bad) / 2;
        (fits(middle) ? good : bad) = middle;
      }
    answer.memory =
        fmt::format("{} meets the condition as well, but does not fit: {}", shown(answer.value), needs);
    answer.value = good;
    answer.beside.reset();
    if (answer.input.integral) answer.beside = good + (above ? 1 : -1);
    return;
  }
  answer.memory = fmt::format("does not fit in memory: {}", needs);
}

Relation relation_of(Comparison c) {
  switch (c) {
    case Comparison::at_most:
    case Comparison::below:
      return Relation::at_most;
    case Comparison::at_least:
    case Comparison::above:
      return Relation::at_least;
    case Comparison::equal:
      break;
  }
  return Relation::equals;
}

}  // namespace

Outcome<SolveAnswer> solve(const Subject& subject, std::string_view condition, std::string_view free,
                           const SolveDomain& domain) {
  const auto asked = ConstraintExpression::parse(condition, {subject.entry.inputs, subject.entry.results});
  const int slot = asked.left().lone_slot();
  const auto first = static_cast<int>(subject.entry.inputs.size());
  if (slot < first || !asked.right().constant())
    throw InputError({.id = "mlsysim.explore.020",
                      .message = "a condition to solve has a result on the left and a constant on the right",
                      .found = fmt::format("'{}'", condition),
                      .expected = "e.g. 'itl <= 50 ms'",
                      .hint = "optimize and sweep take conditions of any form"});
  const std::size_t result = static_cast<std::size_t>(slot - first), input = subject.input(free);
  const FieldInfo& field = subject.entry.inputs[input];
  const FieldInfo& output = subject.entry.results[result];
  for (const auto* end : {&domain.low, &domain.high})
    if (*end && !((*end)->exponents() == field.exps))
      throw DimensionError({.id = "mlsysim.explore.021",
                            .message = fmt::format("a limit of '{}' has another dimension", field.name),
                            .key = field.name,
                            .found = dimension_name((*end)->exponents()),
                            .expected = dimension_name(field.exps)});
    else if (*end && field.integral && !is_count((*end)->base()))
      check_range(field, (*end)->base());
  // Counts with which there is no plan are no answers.
  const FieldInfo* fits = field.integral ? find_field(subject.entry.results, "plan_fits") : nullptr;
  const bool of_plan = std::find(kDegrees.begin(), kDegrees.end(), field.name) != kDegrees.end(),
             degree = fits != nullptr && of_plan;
  const double target = asked.right()(std::span<const double>{});
  const auto in_unit = [&](const AnyQuantity& q) { return field.unit.empty() ? q.base() : q.in(field.unit); };
  LawEntry entry = subject.entry;
  entry.info.id = subject.title;  // what sentences call it
  limit_prompt(entry, subject.point, input);
  if (domain.low) entry.inputs[input].low = std::max(entry.inputs[input].low, in_unit(*domain.low));
  if (domain.high)
    entry.inputs[input].high = std::min(entry.inputs[input].high, in_unit(*domain.high));
  else if (of_plan)
    entry.inputs[input].high = std::min(entry.inputs[input].high, kMostDevices);
  const auto only = fits == nullptr
                        ? std::nullopt
                        : std::optional(static_cast<std::size_t>(fits - subject.entry.results.data()));
  const auto solved = detail::solve_backwards(
      entry, subject.point, field.name,
      {output.name, relation_of(asked.comparison()), AnyQuantity::from_base(target, output.exps)}, only);
  if (!solved) return *solved.why();
  SolveAnswer out{.subject = subject.title,
                  .condition = asked.text(),
                  .free = field.name,
                  .input = field,
                  .result = output,
                  .value = solved->value,
                  .at_value = 0,
                  .inversion = solved->inversion,
                  .verification = solved->verification,
                  .assumptions = subject.assumptions};
  for (const auto& s : out.inversion.solutions) {
    if (s.above && out.value == s.high)
      out.beside = s.above;
    else if (s.below && out.value == s.low)
      out.beside = s.below;
  }
  keep_to_memory(subject, input, degree, out);
  auto point = subject.point;
  point[input] = out.value;
  out.at_value = subject.entry(point)[result];
  return out;
}

std::string SolveAnswer::check_text() const {
  const auto shown = [](const FieldInfo& f, double x) { return field_text(f, x, 6); };
  if (beside)
    return fmt::format("checked: {} meets the condition{}, {} does not", shown(input, value),
                       memory.empty() ? "" : " and fits", shown(input, *beside));
  if (verification.checked()) return verification.text();
  return fmt::format("checked: put back, {} is {}, which meets {}", result.name, shown(result, at_value),
                     condition);
}

std::string SolveAnswer::text() const {
  const auto shown = [](const FieldInfo& f, double x) { return field_text(f, x, 6); };
  std::string out =
      fmt::format("{} = {}: {} is {}\n", free, shown(input, value), result.name, shown(result, at_value));
  const auto& all = inversion.solutions;
  if (inversion.outcome == InverseOutcome::everywhere)
    out += fmt::format("  met everywhere between {} and {}\n", shown(input, inversion.low),
                       shown(input, inversion.high));
  for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 8); ++i) {
    const auto& s = all[i];
    if (s.jump)
      out += fmt::format("  at {} the result jumps over the target\n", shown(input, s.low));
    else if (s.low == s.high)
      out += fmt::format("  met at {}\n", shown(input, s.low));
    else
      out += fmt::format("  met from {} to {}\n", shown(input, s.low), shown(input, s.high));
  }
  if (all.size() > 8) out += fmt::format("  and in {} more places\n", all.size() - 8);
  out += fmt::format(
      "  searched from {} to {}: {}\n", shown(input, inversion.low), shown(input, inversion.high),
      inversion.exhaustive ? "none is missed" : "solutions closer together than the scan may be missed");
  if (!memory.empty()) out += fmt::format("  {}\n", memory);
  out += fmt::format("  {}; {}\n", check_text(), describe_method(inversion.method));
  return out;
}

}  // namespace mlsysim
