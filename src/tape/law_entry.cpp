#include <mlsysim/tape/law_entry.hpp>

#include <mlsysim/reflect/range.hpp>
#include <mlsysim/tape/tape.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace mlsysim {
namespace {

std::size_t index_of(std::span<const FieldInfo> fields, std::string_view name, std::string_view what,
                     std::string_view law) {
  if (const auto* found = find_field(fields, name)) return static_cast<std::size_t>(found - fields.data());
  std::vector<std::string> names;
  for (const auto& f : fields) names.push_back(f.name);
  throw LookupError(
      unknown_name("mlsysim.tools.001", fmt::format("'{}' has no {} '{}'", law, what, name), name, names));
}

void check_count(const LawEntry& law, std::size_t found) {
  if (found == law.inputs.size()) return;
  throw InputError({.id = "mlsysim.tools.002",
                    .message = fmt::format("'{}' was given the wrong number of inputs", law.info.id),
                    .found = fmt::format("{} numbers", found),
                    .expected = fmt::format("{}", law.inputs.size()),
                    .hint = "inputs are in the order of the field table, nested tables unfolded"});
}

}  // namespace

Tape LawEntry::part(const TapeReduction& known) const {
  return narrowed != nullptr ? narrowed(self.get(), known) : reduced(tape(), known);
}

std::size_t LawEntry::input(std::string_view name) const { return index_of(inputs, name, "input", info.id); }
std::size_t LawEntry::result(std::string_view name) const {
  return index_of(results, name, "result", info.id);
}

std::vector<double> LawEntry::operator()(std::span<const double> in) const {
  check_count(*this, in.size());
  std::vector<double> out(results.size());
  evaluate(self.get(), in.data(), out.data());
  return out;
}

void check_inputs(const LawEntry& law, std::span<const double> in) {
  check_count(law, in.size());
  for (std::size_t i = 0; i < in.size(); ++i) check_range(law.inputs[i], in[i]);
}

std::vector<double> evaluate_checked(const LawEntry& law, std::span<const double> in) {
  check_inputs(law, in);
  return law(in);
}

void detail::check_goal(const FieldInfo& result, const Exponents& target) {
  if (result.exps == target) return;
  throw DimensionError(
      {.id = "mlsysim.tools.016",
       .message = fmt::format("the target of '{}' has another dimension than the result", result.name),
       .key = result.name,
       .found = dimension_name(target),
       .expected = dimension_name(result.exps)});
}

FieldRange base_range(const FieldInfo& field) {
  double mul = 1, div = 1;
  if (!field.unit.empty()) {
    const UnitExpr unit = UnitRegistry::standard().parse_unit(field.unit);
    mul = unit.mul;
    div = unit.div;
  }
  const auto to_base = [&](double x) { return x * mul / div; };
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double low = field.low > -kUnbounded ? to_base(field.low) : -inf,
               high = field.high < kUnbounded ? to_base(field.high) : inf;
  return {low, field.integral ? std::min(high, kMostCount) : high, field.open_low};
}

}  // namespace mlsysim
