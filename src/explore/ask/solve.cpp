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

/// The memory of the fullest device of a subject, over one of its inputs.
class MemoryOver {
 public:
  MemoryOver(const Subject& subject, std::size_t input)
      : subject_(subject),
        input_(input),
        used_(find_field(subject.entry.results, "memory_used")),
        capacity_(find_field(subject.entry.results, "memory_capacity")) {}

  [[nodiscard]] bool known() const { return used_ != nullptr && capacity_ != nullptr; }
  [[nodiscard]] bool fits(double x) const {
    const auto [need, have] = at(x);
    return !(need > have);
  }
  /// "320 needs 86.1 GB of 85.9 GB"
  [[nodiscard]] std::string needs(double x) const {
    const auto [need, have] = at(x);
    return fmt::format("{} needs {} of {}", shown(x), field_text(*used_, need, 4),
                       field_text(*capacity_, have, 4));
  }
  /// Tells of a value that was passed over.
  [[nodiscard]] std::string passed_over(double x) const {
    return fmt::format("{} meets the condition as well, but does not fit: {}", shown(x), needs(x));
  }

 private:
  [[nodiscard]] std::string shown(double x) const { return field_text(subject_.entry.inputs[input_], x, 6); }
  [[nodiscard]] std::pair<double, double> at(double x) const {
    auto point = subject_.point;
    point[input_] = x;
    const auto found = subject_.entry(point);
    const auto place = [&](const FieldInfo* f) {
      return static_cast<std::size_t>(f - subject_.entry.results.data());
    };
    return {found[place(used_)], found[place(capacity_)]};
  }

  const Subject& subject_;
  std::size_t input_;
  const FieldInfo *used_, *capacity_;
};

/// Moves the answer to the last value of its range that fits, or to an end of another range that does, and
/// says so. Leaves the answer as it is if no such value fits.
void keep_to_memory(const MemoryOver& memory, SolveAnswer& answer) {
  const double asked = answer.value;
  const auto& all = answer.inversion.solutions;
  const auto take = [&](double good, std::optional<double> beside) {
    answer.memory = memory.passed_over(asked);
    answer.value = good;
    answer.beside = beside;
  };
  const auto fits = [&](double x) { return memory.fits(x); };
  for (const auto& s : all) {
    if (s.jump || asked < s.low || asked > s.high) continue;
    double bad = asked, good = asked == s.high ? s.low : s.high;
    if (!fits(good)) continue;
    const double next = good < bad ? 1 : -1;
    if (answer.input.integral)
      good = detail::last_whole(good, bad, fits);
    else
      for (int i = 0; i < 200 && std::fabs(bad - good) > 1e-12 * std::fabs(bad); ++i) {
        const double middle = (good + bad) / 2;
        (fits(middle) ? good : bad) = middle;
      }
    return take(good, answer.input.integral ? std::optional(good + next) : std::nullopt);
  }
  for (const auto& s : all)
    for (const double end : {s.low, s.high})
      if (!s.jump && fits(end)) return take(end, std::nullopt);
}

SolveAnswer answer_of(const Subject& subject, std::string_view condition, const FieldInfo& input,
                      const FieldInfo& result, const detail::Solved& solved) {
  SolveAnswer out{.subject = subject.title,
                  .condition = std::string(condition),
                  .free = input.name,
                  .input = input,
                  .result = result,
                  .value = solved.value,
                  .at_value = 0,
                  .inversion = solved.inversion,
                  .verification = solved.verification,
                  .assumptions = subject.assumptions};
  for (const auto& s : out.inversion.solutions) {
    if (s.above && out.value == s.high)
      out.beside = s.above;
    else if (s.below && out.value == s.low)
      out.beside = s.below;
  }
  return out;
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
  const bool of_plan = std::find(kDegrees.begin(), kDegrees.end(), field.name) != kDegrees.end();
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
  // Counts with which there is no plan are no answers.
  std::vector<Required> only;
  const auto require = [&](std::string_view name, double value) {
    if (const FieldInfo* f = field.integral ? find_field(subject.entry.results, name) : nullptr)
      only.push_back({static_cast<std::size_t>(f - subject.entry.results.data()), value});
  };
  require("plan_fits", 1);
  const Target limit{output.name, relation_of(asked.comparison()),
                     AnyQuantity::from_base(target, output.exps)};
  const auto search = [&] { return detail::solve_backwards(entry, subject.point, field.name, limit, only); };
  const auto solved = search();
  if (!solved) return *solved.why();
  SolveAnswer out = answer_of(subject, asked.text(), field, output, *solved);
  const MemoryOver memory(subject, input);
  if (memory.known() && output.name != "memory_used" && !memory.fits(out.value)) {
    const auto passed_over = memory.passed_over(out.value);
    // Degrees that fit are no range, so a law is searched again.
    if (!of_plan || !entry.is_law()) {
      keep_to_memory(memory, out);
    } else if (require("memory_shortfall", 0); const auto fitting = search()) {
      out = answer_of(subject, asked.text(), field, output, *fitting);
      out.memory = passed_over;
    }
    if (!memory.fits(out.value))
      return Infeasible{.reason = fmt::format("no {} at which {} fits in memory: {}", field.name,
                                              asked.text(), memory.needs(out.value)),
                        .smallest_change = "make it fit first: mlsysim eval names what does",
                        .facts = {}};
  }
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
