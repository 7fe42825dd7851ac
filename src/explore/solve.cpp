#include <mlsysim/explore/solve.hpp>

#include <mlsysim/resolve/field_text.hpp>
#include <mlsysim/resolve/solve_for.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace mlsysim {
namespace {

constexpr std::array<std::string_view, 5> kDegrees{"accelerators", "tp_size", "pp_size", "ep_size", "cp_size"};

/// The subject's entry with no result where the degrees do not divide the devices.
struct Guarded {
  LawEntry inner;
  std::size_t fits;
};

LawEntry guarded(const Subject& subject) {
  auto state = std::make_shared<Guarded>(Guarded{subject.entry, subject.result("degrees_fit")});
  LawEntry e = subject.entry;
  e.is_law = false;
  e.dual = nullptr;
  e.interval = nullptr;
  e.self = state;
  e.evaluate = [](const void* self, const double* in, double* out) {
    const auto& g = *static_cast<const Guarded*>(self);
    g.inner.evaluate(g.inner.self.get(), in, out);
    if (out[g.fits] != 1) std::fill_n(out, g.inner.results.size(), std::numeric_limits<double>::quiet_NaN());
  };
  e.batch = [](const void* self, const double* const* in, double* const* out, std::size_t points) {
    const auto& g = *static_cast<const Guarded*>(self);
    g.inner.batch(g.inner.self.get(), in, out, points);
    for (std::size_t p = 0; p < points; ++p) {
      if (out[g.fits][p] == 1) continue;
      for (std::size_t r = 0; r < g.inner.results.size(); ++r)
        if (r != g.fits) out[r][p] = std::numeric_limits<double>::quiet_NaN();
    }
  };
  return e;
}

Relation relation_of(Comparison c) {
  switch (c) {
    case Comparison::at_most:
    case Comparison::below: return Relation::at_most;
    case Comparison::at_least:
    case Comparison::above: return Relation::at_least;
    case Comparison::equal: break;
  }
  return Relation::equals;
}

}  // namespace

Outcome<SolveAnswer> solve(const Subject& subject, std::string_view condition, std::string_view free, const SolveDomain& domain) {
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
      throw DimensionError({.id = "mlsysim.explore.021", .message = fmt::format("a limit of '{}' has another dimension", field.name),
                            .key = field.name, .found = dimension_name((*end)->exponents()), .expected = dimension_name(field.exps)});
  const bool degree = field.integral && std::find(kDegrees.begin(), kDegrees.end(), field.name) != kDegrees.end() &&
                      std::any_of(subject.entry.results.begin(), subject.entry.results.end(),
                                  [](const FieldInfo& f) { return f.name == "degrees_fit"; });
  LawEntry entry = degree ? guarded(subject) : subject.entry;
  const auto in_unit = [&](const AnyQuantity& q) {
    return field.unit.empty() ? q.base() : q.in(field.unit);
  };
  if (domain.low) entry.inputs[input].low = std::max(entry.inputs[input].low, in_unit(*domain.low));
  if (domain.high) entry.inputs[input].high = std::min(entry.inputs[input].high, in_unit(*domain.high));
  // A count is tried value by value; fleets of more devices than this are not asked for.
  if (degree && !domain.high) entry.inputs[input].high = 262144;
  const double target = asked.right()(std::span<const double>{});
  auto solved = detail::solve_backwards(entry, subject.point, field.name,
                                        {output.name, relation_of(asked.comparison()), AnyQuantity::from_base(target, output.exps)});
  if (!solved) return *solved.why();
  SolveAnswer out{.subject = subject.title, .condition = asked.text(), .free = field.name, .input = field, .result = output,
                  .value = solved->value, .at_value = 0, .inversion = solved->inversion, .verification = solved->verification,
                  .assumptions = subject.assumptions};
  // Counts are tried one by one, with no slopes: the guard does not make them less exact.
  if (degree && subject.entry.is_law) out.inversion.method = Method::exact;
  auto point = subject.point;
  point[input] = out.value;
  out.at_value = entry(point)[result];
  return out;
}

std::string SolveAnswer::text() const {
  const auto shown = [](const FieldInfo& f, double x) { return field_text(f, x, 6); };
  std::string out = fmt::format("{} = {}: {} is {}\n", free, shown(input, value), result.name, shown(result, at_value));
  const auto& all = inversion.solutions;
  if (inversion.outcome == InverseOutcome::everywhere)
    out += fmt::format("  met everywhere between {} and {}\n", shown(input, inversion.low), shown(input, inversion.high));
  for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 8); ++i) {
    const auto& s = all[i];
    if (s.jump) out += fmt::format("  at {} the result jumps over the target\n", shown(input, s.low));
    else if (s.low == s.high) out += fmt::format("  met at {}\n", shown(input, s.low));
    else out += fmt::format("  met from {} to {}\n", shown(input, s.low), shown(input, s.high));
  }
  if (all.size() > 8) out += fmt::format("  and in {} more places\n", all.size() - 8);
  out += fmt::format("  searched from {} to {}: {}\n", shown(input, inversion.low), shown(input, inversion.high),
                     inversion.exhaustive ? "none is missed" : "solutions closer together than the scan may be missed");
  // A threshold may be met from below or from above; the neighbours tell which.
  std::string check = verification.text();
  for (const auto& s : all) {
    if (s.neighbour_high && value == s.high) check = fmt::format("checked: {} meets the condition, {} does not", shown(input, s.high), shown(input, s.high + 1));
    else if (s.neighbour_low && value == s.low) check = fmt::format("checked: {} meets the condition, {} does not", shown(input, s.low), shown(input, s.low - 1));
  }
  out += fmt::format("  {}; {}\n", check, describe_method(inversion.method));
  return out;
}

}  // namespace mlsysim
