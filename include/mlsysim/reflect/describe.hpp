#pragma once
/// The fields of a table struct at run time: names, units, ranges, offsets, and reading and writing without
/// types.
///
/// `describe<S>()` is built once from `S::fields()`. Nested table structs are flattened with dotted names.
/// Example: `describe<Roofline::Inputs<double>>()[3]` is "bandwidth", a quantity shown in GB/s that must be
/// above 0. `check_range` of it with -2e12 B/s throws: found -2000 GB/s, expected more than 0 GB/s.

#include <mlsysim/reflect/member.hpp>
#include <mlsysim/units/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// One field of a table struct, erased.
struct FieldInfo {
  std::string name;
  std::string_view unit;
  std::string_view meaning;
  std::string_view default_source;
  ValueKind kind = ValueKind::number;
  Exponents exps{};
  std::size_t offset = 0;  ///< of the member in the struct [byte]
  std::size_t size = 0;    ///< of the member [byte]
  bool shared = false;
  bool required = true;
  bool nullable = false;  ///< an absent value is admissible (`std::optional`, pointer with a default)
  double low = -kUnbounded, high = kUnbounded;  ///< display unit
  bool open_low = false;
  bool integral = false;                        ///< a count
  bool held = false;                            ///< a number of a law that tools do not vary
  std::string_view object_type{};               ///< for objects
  std::span<const std::string_view> choices{};  ///< for choices
  Value default_value{};
  Value (*get)(const void* member) = nullptr;
  /// Stores a value of the right kind (numbers in the base unit); throws InputError otherwise.
  void (*set)(void* member, const Value& value, const FieldInfo& info) = nullptr;

  [[nodiscard]] Value read(const void* object) const {
    return get(static_cast<const std::byte*>(object) + offset);
  }
  void write(void* object, const Value& value) const {
    set(static_cast<std::byte*>(object) + offset, value, *this);
  }
};

namespace detail {

/// Whether every member, nested structs included, can be handed over as a Value.
template <class S> consteval bool holds_values() {
  bool all = true;
  for_each_field<S>([&]<class M>(const Field<S, M>&) {
    if constexpr (HasFields<M>)
      all = all && holds_values<M>();
    else
      all = all && TypeOf<M>::value.get != nullptr;
  });
  return all;
}

/// The rows of a table as fields, nested structs flattened.
[[nodiscard]] std::vector<FieldInfo> flattened(const TableInfo& table);
}  // namespace detail

/// All fields of a table struct over double, nested structs flattened; built once.
template <TableStruct S> [[nodiscard]] std::span<const FieldInfo> describe() {
  static_assert(detail::holds_values<S>(),
                "lists, maps and free quantities are members of specs, not of inputs and results");
  static const std::vector<FieldInfo> fields = detail::flattened(field_table<S>());
  return fields;
}

/// The field of this name or second name ("tpot", see detail/aliases.hpp), or null. A parameter of a device
/// is also found by its path below a device ("hardware.tdp") or a fleet ("fleet.node.accelerator.tdp").
[[nodiscard]] const FieldInfo* find_field(std::span<const FieldInfo> fields, std::string_view name);

/// Checks the range of a number in the field's base unit; throws DomainError naming field, value, range and
/// unit.
void check_range(const FieldInfo& field, double base);

/// Checks every number of `object` for being finite and within its field's range.
void check_ranges(std::span<const FieldInfo> fields, const void* object);

}  // namespace mlsysim
