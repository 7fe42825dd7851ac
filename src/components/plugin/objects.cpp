#include "detail/objects.hpp"

#include <mlsysim/specs/leaves.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <array>
#include <deque>

namespace mlsysim::plugin::detail {
namespace {

/// The operations of the table of types, for one type.
struct TypeRow {
  std::string_view name;
  std::size_t (*count)(const Zoo&);
  const void* (*at)(const Zoo&, std::size_t);
  const void* (*find)(const Zoo&, std::string_view);
  void (*read)(const void*, ObjectTable&, const Visit&);
};

MlsValue quantity_value(double base, const Exponents& exps) {
  return {MLS_NUMBER, 0, base, plugin::to_c(static_unit(exps)), nullptr};
}

MlsValue leaf_value(const MemberType& type, const void* member, ObjectTable& handles) {
  switch (type.form) {
    case MemberForm::maybe:
      return type.count(member) > 0 ? leaf_value(*type.item, type.item_at(member, 0), handles) : MlsValue{};
    case MemberForm::any_quantity: {
      const auto& q = *static_cast<const AnyQuantity*>(member);
      return quantity_value(q.base(), q.exponents());
    }
    case MemberForm::number:
      return {MLS_NUMBER, 0, *static_cast<const double*>(member), {}, nullptr};
    case MemberForm::flag:
      return {MLS_FLAG, *static_cast<const bool*>(member) ? 1 : 0, 0, {}, nullptr};
    case MemberForm::text: {
      const auto& text = *static_cast<const std::string*>(member);
      return text.empty() ? MlsValue{} : MlsValue{MLS_STRING, 0, 0, plugin::to_c(text), nullptr};
    }
    case MemberForm::choice:
      return {MLS_STRING, 0, 0, plugin::to_c(type.choices[type.index(member)]), nullptr};
    case MemberForm::object: {
      const Value value = type.get(member);
      const auto* spec = std::get_if<ObjectRef>(&value);
      return spec == nullptr ? MlsValue{} : MlsValue{MLS_OBJECT, 0, 0, {}, handles.handle(*spec)};
    }
    default:
      return quantity_value(*static_cast<const double*>(member), type.exps);
  }
}

/// Figures that follow from others, as methods of the structs give them; absent where they cannot.
template <class T> void read_derived(const T& spec, const Visit& visit) {
  const auto tell = [&](std::string_view path, const auto& make) {
    MlsValue value{};
    try {
      const AnyQuantity q(make());
      value = quantity_value(q.base(), q.exponents());
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): not known is an answer
    }
    visit(path, value);
  };
  if constexpr (std::is_same_v<T, HardwareNode>)
    tell("compute.peak_flops", [&] { return spec.compute.peak_flops(); });
  if constexpr (std::is_same_v<T, Workload>) tell("size", [&] { return spec.size(); });
}

template <class T> constexpr TypeRow row_of() {
  return {ObjectType<T>::name, [](const Zoo& zoo) { return zoo.all<T>().size(); },
          [](const Zoo& zoo, std::size_t i) -> const void* { return zoo.all<T>()[i]; },
          [](const Zoo& zoo, std::string_view name) -> const void* { return &zoo.at<T>(name); },
          [](const void* spec, ObjectTable& handles, const Visit& visit) {
            const T& object = *static_cast<const T*>(spec);
            for_each_leaf(field_table<T>(), spec,
                          [&](std::string_view path, const MemberType& type, const void* member) {
                            visit(path, leaf_value(type, member, handles));
                          });
            read_derived(object, visit);
          }};
}

constexpr auto kTypes = []<class... T>(SpecList<T...>) { return std::array{row_of<T>()...}; }(ZooSpecs{});

const TypeRow& type_row(std::string_view name) {
  for (const auto& row : kTypes)
    if (row.name == name) return row;
  fail(MLS_NOT_FOUND,
       unknown_name("mlsysim.plugin.020", fmt::format("there are no objects of the type '{}'", name), name,
                    object_types()));
}

}  // namespace

std::string_view static_unit(const Exponents& exps) {
  static std::mutex mutex;
  static auto& units = *new std::deque<std::pair<Exponents, std::string>>;
  const std::lock_guard lock(mutex);
  for (const auto& [known, text] : units)
    if (known == exps) return text;
  return units.emplace_back(exps, canonical_unit(exps)).second;
}

const MlsObject* ObjectTable::handle(ObjectRef object) {
  if (object.object == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  auto& entry = by_spec_[object.object];
  if (entry == nullptr || entry->type != object.type) {
    // A handle that was given out for something that lived here before stays known, and means this object
    // now.
    if (entry == nullptr) entry = std::make_unique<MlsObject>();
    *entry = {object.object, object_type(object.type)};
    known_.insert(entry.get());
  }
  return entry.get();
}

ObjectRef ObjectTable::object(const MlsObject* handle) const {
  const std::lock_guard lock(mutex_);
  if (!known_.contains(handle))
    fail(MLS_INVALID_ARGUMENT, {.id = "mlsysim.plugin.021",
                                .message = "an object is none that the host gave",
                                .key = "object",
                                .found = handle == nullptr ? "a null pointer" : "an unknown address",
                                .expected = "what zoo_find, zoo_at or an input gave"});
  return {handle->spec, handle->type};
}

std::string_view object_type(std::string_view name) {
  for (const auto& row : kTypes)
    if (row.name == name) return row.name;
  return {};
}

std::vector<std::string> object_types() {
  std::vector<std::string> out;
  for (const auto& row : kTypes) out.emplace_back(row.name);
  return out;
}

std::size_t count_objects(const Zoo& zoo, std::string_view type) { return type_row(type).count(zoo); }

ObjectRef object_at(const Zoo& zoo, std::string_view type, std::size_t index) {
  const auto& row = type_row(type);
  const auto count = row.count(zoo);
  if (index >= count)
    fail(MLS_OUT_OF_RANGE, {.id = "mlsysim.plugin.022",
                            .message = fmt::format("there is no object {} of the type '{}'", index, type),
                            .key = "index",
                            .found = fmt::format("{}", index),
                            .expected = fmt::format("below {}", count)});
  return {row.at(zoo, index), row.name};
}

ObjectRef find_object(const Zoo& zoo, std::string_view type, std::string_view name) {
  const auto& row = type_row(type);
  return {row.find(zoo, name), row.name};
}

void read_object(ObjectRef object, ObjectTable& handles, const Visit& visit) {
  type_row(object.type).read(object.object, handles, visit);
}

MlsValue to_c(const Value& value, const Exponents& exps, ObjectTable& handles) {
  if (const auto* x = std::get_if<double>(&value))
    return {MLS_NUMBER, 0, *x, exps.dimensionless() ? MlsString{} : plugin::to_c(static_unit(exps)), nullptr};
  if (const auto* b = std::get_if<bool>(&value)) return {MLS_FLAG, *b ? 1 : 0, 0, {}, nullptr};
  if (const auto* s = std::get_if<std::string>(&value)) return {MLS_STRING, 0, 0, plugin::to_c(*s), nullptr};
  if (const auto* o = std::get_if<ObjectRef>(&value))
    return o->object == nullptr ? MlsValue{} : MlsValue{MLS_OBJECT, 0, 0, {}, handles.handle(*o)};
  return {};
}

DynamicValue from_c(const MlsValue& value, std::string_view declared, const ObjectTable& handles) {
  switch (value.kind) {
    case MLS_NUMBER: {
      const auto unit = value.text.size == 0 ? std::string(declared) : read_text(value.text, "a unit");
      if (unit.empty()) return value.number;
      const auto u = UnitRegistry::standard().parse_unit(unit);
      return {value.number * u.mul / u.div, u.exps};
    }
    case MLS_FLAG:
      return value.flag != 0;
    case MLS_STRING:
      return read_text(value.text, "a value");
    case MLS_OBJECT:
      return DynamicValue(Value(handles.object(value.object)));
    default:
      return {};
  }
}

}  // namespace mlsysim::plugin::detail
