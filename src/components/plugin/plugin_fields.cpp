// Fields that a plugin declares, as fields of a resolver: each gets a description and a cell of memory.

#include "detail/plugin_resolver.hpp"

#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mlsysim::plugin::detail {
namespace {

using mlsysim::detail::Access;

/// A spec in a cell of a resolver that is known at run time only.
Value get_object(const void* member) {
  const auto& o = *static_cast<const ObjectRef*>(member);
  return o.object == nullptr ? Value{} : Value{o};
}
void set_object(void* member, const Value& value, const FieldInfo& info) {
  const auto* o = std::get_if<ObjectRef>(&value);
  if (o == nullptr && std::holds_alternative<std::monostate>(value) && info.nullable) {
    *static_cast<ObjectRef*>(member) = {};
    return;
  }
  if (o == nullptr || o->type != info.object_type) mlsysim::detail::wrong_kind(info, value);
  *static_cast<ObjectRef*>(member) = *o;
}
void set_text(void* member, const Value& value, const FieldInfo& info) {
  if (const auto* text = std::get_if<std::string>(&value);
      text != nullptr && !info.choices.empty() &&
      std::find(info.choices.begin(), info.choices.end(), *text) == info.choices.end())
    mlsysim::detail::unknown_choice(info, *text);
  Access<std::string>::set(member, value, info);
}

template <class T> void access_as(FieldInfo& f) {
  f.size = sizeof(T);
  f.get = &Access<T>::get;
  f.set = &Access<T>::set;
}

}  // namespace

std::string_view PluginResolver::Side::keep(std::string text) { return texts.emplace_back(std::move(text)); }

void PluginResolver::bad_field(const FieldDescription& field, std::string_view what, std::string found,
                               std::string expected) const {
  fail(MLS_INVALID_ARGUMENT,
       {.id = "mlsysim.plugin.050",
        .message = fmt::format("the field '{}' of '{}' {}", field.name, info().name, what),
        .key = field.name,
        .found = std::move(found),
        .expected = std::move(expected)},
       plugin_, "register_all");
}

void PluginResolver::set_units(Side& side, const FieldDescription& field, FieldInfo& f, Wire& wire) const {
  const auto& units = UnitRegistry::standard();
  try {
    const auto unit = units.parse_unit(field.unit);
    f.exps = unit.exps;
    wire.mul = unit.mul;
    wire.div = unit.div;
    wire.unit = plugin::to_c(side.keep(field.unit));
    const auto display = units.parse_unit(field.display.empty() ? field.unit : field.display);
    if (!(display.exps == unit.exps))
      bad_field(field, "is displayed in a unit of another dimension", field.display,
                dimension_name(unit.exps));
    f.unit = side.keep(display.spelling);
    if (field.has(MLS_FIELD_BOUNDED)) {
      const double scale = unit.mul / unit.div * display.div / display.mul;
      f.low = field.low * scale;
      f.high = field.high * scale;
    }
  } catch (const UnitError& error) {
    bad_field(field, "has a unit that cannot be read", error.what(),
              "a unit of mlsysim units list, or of a plugin");
  }
}

void PluginResolver::describe_number(Side& side, const FieldDescription& field, FieldInfo& f,
                                     Wire& wire) const {
  f.kind = field.kind == MLS_FIELD_QUANTITY ? ValueKind::quantity : ValueKind::number;
  if (f.kind == ValueKind::quantity) {
    set_units(side, field, f, wire);
  } else if (field.has(MLS_FIELD_BOUNDED)) {
    f.low = field.low;
    f.high = field.high;
  }
  if (!std::isfinite(f.low)) f.low = -kUnbounded;
  if (!std::isfinite(f.high)) f.high = kUnbounded;
  f.open_low = field.has(MLS_FIELD_BOUNDED) && field.has(MLS_FIELD_ABOVE_LOW);
  wire.bounded = field.has(MLS_FIELD_BOUNDED);
  wire.open_low = f.open_low;
  wire.low = field.low;
  wire.high = field.high;
  wire.cell = f.nullable ? Cell::maybe_number : Cell::number;
  if (f.nullable)
    access_as<std::optional<double>>(f);
  else
    access_as<double>(f);
}

void PluginResolver::describe_text(Side& side, const FieldDescription& field, FieldInfo& f, Wire& wire) {
  f.kind = field.kind == MLS_FIELD_TEXT ? ValueKind::text : ValueKind::choice;
  wire.cell = Cell::text;
  access_as<std::string>(f);
  f.set = &set_text;
  if (f.kind == ValueKind::choice) {
    auto& names = side.choices.emplace_back();
    for (const auto& c : field.choices) names.push_back(side.keep(c));
    f.choices = names;
  }
}

void PluginResolver::describe_object(const FieldDescription& field, FieldInfo& f, Wire& wire) const {
  f.kind = ValueKind::object;
  wire.cell = Cell::object;
  f.size = sizeof(ObjectRef);
  if (f.object_type.empty())
    bad_field(field, "is an object of an unknown type", field.object_type,
              fmt::format("one of {}", fmt::join(object_types(), ", ")));
  f.get = &get_object;
  f.set = &set_object;
}

void PluginResolver::check_default(const FieldDescription& field, const FieldInfo& f,
                                   const Wire& wire) const {
  // Storing it once checks its kind and choice.
  alignas(std::max_align_t) std::array<std::byte, 64> cell{};
  Side one;
  one.wires.push_back(wire);
  one.wires[0].offset = 0;
  construct(one, cell.data());
  try {
    f.set(cell.data(), f.default_value, f);
  } catch (const Error& error) {
    destroy(one, cell.data());
    bad_field(field, "has a default of the wrong kind", error.what(), std::string(name_of(f.kind)));
  }
  destroy(one, cell.data());
  if (const auto* x = std::get_if<double>(&f.default_value)) check_range(f, *x);
}

void PluginResolver::add(Side& side, FieldDescription field, ObjectTable& objects, bool input) {
  FieldInfo f;
  Wire wire{};
  f.name = field.name;
  f.meaning = side.keep(field.meaning);
  f.default_source = side.keep(field.default_source);
  f.object_type = object_type(field.object_type);
  f.shared = !field.has(MLS_FIELD_PRIVATE);
  f.integral = field.has(MLS_FIELD_WHOLE);
  f.required = input && !field.has(MLS_FIELD_OPTIONAL);
  const bool has_default = input && field.default_value.kind != MLS_NONE;
  f.nullable = !f.required && !has_default && input;
  wire.mul = wire.div = 1;
  switch (field.kind) {
    case MLS_FIELD_QUANTITY:
    case MLS_FIELD_NUMBER:
      describe_number(side, field, f, wire);
      break;
    case MLS_FIELD_FLAG:
      f.kind = ValueKind::flag;
      wire.cell = Cell::flag;
      access_as<bool>(f);
      break;
    case MLS_FIELD_TEXT:
    case MLS_FIELD_CHOICE:
      describe_text(side, field, f, wire);
      break;
    default:
      describe_object(field, f, wire);
  }
  if (has_default) {
    const auto given = from_c(field.default_value.view(), field.unit, objects);
    f.default_value = given.value;
    if (!(given.exps == f.exps))
      bad_field(field, "has a default of another dimension", given.text(), dimension_name(f.exps));
  }
  side.size = (side.size + 15) / 16 * 16;
  f.offset = wire.offset = side.size;
  side.size += f.size;
  if (has_default) check_default(field, f, wire);
  side.infos.push_back(std::move(f));
  side.wires.push_back(wire);
  side.fields.push_back(std::move(field));
}

}  // namespace mlsysim::plugin::detail
