#include <mlsysim/resolver_api/input_guard.hpp>

#include <mlsysim/tape/law_entry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {

BaseRange BaseRange::of(const FieldInfo& field) {
  const auto range = base_range(field);
  return {std::max(range.low, -kUnbounded), std::min(range.high, kUnbounded), range.open_low, field.integral};
}

bool is_bare_number(const FieldInfo& field) {
  return (field.kind == ValueKind::number || field.kind == ValueKind::quantity) &&
         field.size == sizeof(double);
}

InputGuard::InputGuard(std::span<const FieldInfo> inputs) {
  for (const auto& f : inputs) {
    const bool number = f.kind == ValueKind::number || f.kind == ValueKind::quantity;
    if (is_bare_number(f))
      numbers_.push_back({f.offset, BaseRange::of(f), &f});
    else if (number || (f.kind == ValueKind::object && f.required))
      others_.push_back(&f);
  }
}

void InputGuard::refuse(const FieldInfo& field, const void* inputs, std::string_view resolver) {
  const Value value = field.read(inputs);
  const double x = std::get<double>(value);
  try {
    check_range(field, x);
  } catch (Error& error) {
    error.add_context(fmt::format("in the inputs of {}", resolver));
    throw;
  }
  // The bound was converted to the base unit once, so a value within one rounding of it may pass above.
  throw DomainError({.id = "mlsysim.resolve.011",
                     .message = fmt::format("input '{}' of {} is out of range", field.name, resolver),
                     .key = field.name,
                     .found = fmt::format("{}", x),
                     .expected = "a value within the range of its field"});
}

void InputGuard::check_others(const void* inputs, std::string_view resolver) const {
  for (const FieldInfo* f : others_) {
    const Value value = f->read(inputs);
    if (const auto* x = std::get_if<double>(&value)) {
      if (!BaseRange::of(*f).holds(*x)) refuse(*f, inputs, resolver);
    } else if (f->required && std::holds_alternative<std::monostate>(value)) {
      throw InputError({.id = "mlsysim.resolve.012",
                        .message = fmt::format("input '{}' of {} is missing", f->name, resolver),
                        .key = f->name,
                        .found = "nothing",
                        .expected = f->kind == ValueKind::object
                                        ? fmt::format("a {} ({})", f->object_type, f->meaning)
                                        : std::string(f->meaning),
                        .reason = BreakReason::missing_field});
    }
  }
}

static std::string zeros_of(const GivenInputs& given) {
  std::vector<std::string> names;
  if (given.object != nullptr)
    for (const auto& f : given.fields)
      if ((f.kind == ValueKind::number || f.kind == ValueKind::quantity) &&
          f.read(given.object) == Value(0.0))
        names.push_back(f.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void check_result(std::span<const FieldInfo> outputs, const void* result, std::string_view resolver,
                  const GivenInputs& given) {
  for (const auto& f : outputs) {
    if (f.kind != ValueKind::number && f.kind != ValueKind::quantity) continue;
    const Value value = f.read(result);
    const auto* x = std::get_if<double>(&value);
    if (x == nullptr || std::isfinite(*x)) continue;
    const std::string zeros = zeros_of(given);
    throw SolverError(
        {.id = "mlsysim.resolve.013",
         .message = fmt::format("{} gave a result that is {}", resolver,
                                std::isnan(*x) ? "no number" : "not finite"),
         .key = f.name,
         .found =
             fmt::format("{} = {}", f.name, std::isnan(*x) ? std::string("nan") : fmt::format("{}", *x)) +
             (zeros.empty() ? "" : ", with these inputs at zero: " + zeros),
         .expected = "a finite number, or Infeasible where there is no answer",
         .hint = zeros.empty() ? "look for a division by zero or the root of a negative number in its solve"
                               : "give those inputs that the result divides by",
         .reason = BreakReason::numeric});
  }
}

}  // namespace mlsysim
