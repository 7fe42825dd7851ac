#include <mlsysim/resolver_api/dynamic_resolver.hpp>

#include <mlsysim/resolver_api/tier_scope.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace mlsysim {

namespace {

DynamicValue& cell(void* member) { return *static_cast<DynamicValue*>(member); }

Value get_cell(const void* member) { return static_cast<const DynamicValue*>(member)->value; }

void set_cell(void* member, const Value& value, const FieldInfo& info) {
  const bool absent = std::holds_alternative<std::monostate>(value);
  bool fits = info.kind == ValueKind::any || (absent && info.nullable);
  switch (info.kind) {
    case ValueKind::quantity:
    case ValueKind::number:
      fits = fits || std::holds_alternative<double>(value);
      break;
    case ValueKind::flag:
      fits = fits || std::holds_alternative<bool>(value);
      break;
    case ValueKind::text:
      fits = fits || std::holds_alternative<std::string>(value);
      break;
    case ValueKind::choice:
      if (const auto* name = std::get_if<std::string>(&value)) {
        if (std::find(info.choices.begin(), info.choices.end(), *name) == info.choices.end())
          detail::unknown_choice(info, *name);
        fits = true;
      }
      break;
    case ValueKind::object: {
      const auto* o = std::get_if<ObjectRef>(&value);
      fits = fits || (o != nullptr && o->type == info.object_type) || std::holds_alternative<HostRef>(value);
      break;
    }
    case ValueKind::any:
      break;
  }
  if (!fits) detail::wrong_kind(info, value);
  cell(member) = {value, info.exps};
}

[[noreturn]] void bad_field(const std::string& resolver, const DynamicField& field, const std::string& what) {
  throw InputError({.id = "mlsysim.resolve.015",
                    .message = fmt::format("resolver '{}' cannot have the field '{}'", resolver, field.name),
                    .key = field.name,
                    .found = what,
                    .expected = "fields with a name each, different from the others"});
}

}  // namespace

bool is_dynamic(const FieldInfo& field) { return field.get == &get_cell; }

DynamicField DynamicField::like(const FieldInfo& f) {
  DynamicField d;
  d.name = f.name;
  d.kind = f.kind;
  d.unit = f.unit;
  d.meaning = f.meaning;
  d.object_type = f.object_type;
  d.choices.assign(f.choices.begin(), f.choices.end());
  d.low = f.low;
  d.high = f.high;
  d.integral = f.integral;
  d.shared = true;
  return d;
}

DynamicResolver::DynamicResolver(ResolverInfo info, std::vector<DynamicField> inputs,
                                 std::vector<DynamicField> outputs, DynamicSolve solve)
    : Resolver(std::move(info)),
      inputs_{std::move(inputs), {}},
      outputs_{std::move(outputs), {}},
      input_fields_(describe_side(inputs_, this->info().name)),
      output_fields_(describe_side(outputs_, this->info().name)),
      solve_(std::move(solve)) {}

std::vector<FieldInfo> DynamicResolver::describe_side(Side& side, const std::string& resolver) {
  std::vector<FieldInfo> out;
  for (const auto& d : side.fields) {
    if (d.name.empty()) bad_field(resolver, d, "a field without a name");
    if (find_field(out, d.name) != nullptr) bad_field(resolver, d, "the name twice");
    FieldInfo f;
    f.name = d.name;
    f.unit = d.unit;
    f.meaning = d.meaning;
    f.default_source = d.default_source;
    f.kind = d.kind;
    if (d.kind == ValueKind::quantity) f.exps = UnitRegistry::standard().parse_unit(d.unit).exps;
    f.offset = out.size() * sizeof(DynamicValue);
    f.size = sizeof(DynamicValue);
    f.shared = d.shared;
    f.required = d.required;
    f.nullable = !d.required;
    f.low = d.low;
    f.high = d.high;
    f.integral = d.integral;
    f.object_type = d.object_type;
    if (!d.choices.empty()) {
      side.choices.emplace_back(d.choices.begin(), d.choices.end());
      f.choices = side.choices.back();
    }
    f.default_value = d.default_value.value;
    f.get = &get_cell;
    f.set = &set_cell;
    out.push_back(std::move(f));
  }
  return out;
}

std::size_t DynamicResolver::size(const Side& side) {
  return std::max<std::size_t>(1, side.fields.size() * sizeof(DynamicValue));
}

void DynamicResolver::construct(const Side& side, void* memory) {
  auto* cells = static_cast<DynamicValue*>(memory);
  for (std::size_t i = 0; i < side.fields.size(); ++i)
    ::new (cells + i) DynamicValue(side.fields[i].default_value);
}

void DynamicResolver::destroy(const Side& side, void* memory) {
  auto* cells = static_cast<DynamicValue*>(memory);
  for (std::size_t i = side.fields.size(); i-- > 0;) cells[i].~DynamicValue();
}

Status DynamicResolver::solve(const void* in, void* out, SolveContext& context) const {
  const TierScope scope(info().tier, info().name);
  DynamicAnswer answer = solve_({static_cast<const DynamicValue*>(in), input_fields_.size()}, context);
  if (auto* why = std::get_if<Infeasible>(&answer)) {
    context.why = std::move(*why);
    return Status::infeasible;
  }
  auto& values = std::get<0>(answer);
  if (values.size() != output_fields_.size())
    throw SolverError(
        {.id = "mlsysim.resolve.016",
         .message = fmt::format("{} gave another number of results than it declares", info().name),
         .key = info().name,
         .found = fmt::format("{}", values.size()),
         .expected = fmt::format("{}", output_fields_.size())});
  for (std::size_t i = 0; i < values.size(); ++i) write_checked(output_fields_[i], out, values[i]);
  return Status::ok;
}

Verification DynamicResolver::verify(const void*, const void*) const {
  return {{}, fmt::format("{} was made at run time ({}) and offers no check", info().name, info().origin)};
}

}  // namespace mlsysim
