#include <mlsysim/resolver_api/field_text.hpp>

#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/format.hpp>

namespace mlsysim {

std::string field_text(const FieldInfo& field, const Value& value, int digits) {
  if (const auto* x = std::get_if<double>(&value)) {
    if (field.kind != ValueKind::quantity) return pretty(AnyQuantity(*x), digits);
    const auto q = AnyQuantity::from_base(*x, field.exps);
    return field.unit.empty() ? pretty(q, digits) : pretty(q, field.unit, digits);
  }
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  if (const auto* o = std::get_if<ObjectRef>(&value)) return "a " + std::string(o->type);
  if (const auto* h = std::get_if<HostRef>(&value); h != nullptr && *h) return (*h)->text();
  return "(absent)";
}

std::string struct_text(std::span<const FieldInfo> fields, const void* object, int digits) {
  std::string out;
  for (const auto& f : fields) {
    if (!out.empty()) out += ", ";
    out += f.name + "=" + field_text(f, f.read(object), digits);
  }
  return out;
}

}  // namespace mlsysim
