#include <mlsysim/resolver_api/dynamic_value.hpp>

#include <mlsysim/resolver_api/input_guard.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

namespace mlsysim {

std::string DynamicValue::text() const {
  if (const auto* x = std::get_if<double>(&value))
    return exps.dimensionless() ? pretty(*x, 6) : pretty(AnyQuantity::from_base(*x, exps), 6);
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  if (const auto* o = std::get_if<ObjectRef>(&value)) return "a " + std::string(o->type);
  if (const auto* h = std::get_if<HostRef>(&value); h != nullptr && *h) return (*h)->text();
  return "(absent)";
}

void write_checked(const FieldInfo& field, void* object, const DynamicValue& value) {
  if (is_dynamic(field) && field.kind == ValueKind::any) {
    *reinterpret_cast<DynamicValue*>(static_cast<std::byte*>(object) + field.offset) = value;
    return;
  }
  if (const auto* x = std::get_if<double>(&value.value)) {
    const bool number = field.kind == ValueKind::number || field.kind == ValueKind::quantity;
    if (number && !(field.exps == value.exps))
      throw DimensionError({.id = "mlsysim.resolve.014",
                            .message = fmt::format("'{}' has the wrong dimension", field.name),
                            .key = field.name,
                            .found = value.exps.dimensionless()
                                         ? fmt::format("the bare number {}", *x)
                                         : fmt::format("{}, {}", value.text(), dimension_name(value.exps)),
                            .expected = field.exps.dimensionless()
                                            ? "a bare number"
                                            : fmt::format("a quantity of {}", dimension_name(field.exps)),
                            .hint = field.exps.dimensionless()
                                        ? ""
                                        : fmt::format("write it with a unit, e.g. in {}", field.unit)});
    if (number && !BaseRange::of(field).holds(*x)) check_range(field, *x);
  }
  field.write(object, value.value);
}

DynamicValue read_dynamic(const FieldInfo& field, const void* object) {
  if (is_dynamic(field))
    return *reinterpret_cast<const DynamicValue*>(static_cast<const std::byte*>(object) + field.offset);
  return {field.read(object), field.exps};
}

}  // namespace mlsysim
