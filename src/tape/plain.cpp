#include <mlsysim/tape/register.hpp>

#include <fmt/format.h>

namespace mlsysim::detail {

std::vector<FieldInfo> numeric_fields(std::span<const FieldInfo> fields) {
  std::vector<FieldInfo> out;
  for (const auto& f : fields)
    if (f.kind == ValueKind::number || f.kind == ValueKind::quantity || f.kind == ValueKind::flag)
      out.push_back(f);
  return out;
}

double read_number(const FieldInfo& field, const void* object) {
  const Value v = field.read(object);
  if (const auto* x = std::get_if<double>(&v)) return *x;
  if (const auto* b = std::get_if<bool>(&v)) return *b ? 1.0 : 0.0;
  throw InputError({.id = "mlsysim.tools.005",
                    .message = fmt::format("'{}' has no value to work with", field.name),
                    .key = field.name,
                    .found = "nothing",
                    .expected = "a number",
                    .hint = "give the input a value before handing it to a tool",
                    .reason = BreakReason::missing_field});
}

void write_number(const FieldInfo& field, void* object, double base) {
  if (field.kind == ValueKind::flag)
    field.write(object, Value{base != 0.0});
  else
    field.write(object, Value{base});
}

}  // namespace mlsysim::detail
