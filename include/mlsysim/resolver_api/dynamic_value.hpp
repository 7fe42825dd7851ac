#pragma once
/// A value with its dimension at run time, as Python, plugins and records exchange it.
///
/// Example: `DynamicValue(10 * unit::ms)` holds 0.01 and the exponents of time. Written to a time field it is
/// stored. The bare number 10 throws DimensionError, and -1 ms in a field that must be positive throws
/// DomainError.

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/units/any_quantity.hpp>

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

namespace mlsysim {

/// A number, flag, text, object or absent value. A number has the dimension `exps`, in base units.
struct DynamicValue {
  Value value;
  Exponents exps{};

  DynamicValue() = default;
  /// Any bare value; a number has no dimension.
  DynamicValue(Value v, Exponents e = {}) : value(std::move(v)), exps(e) {}  // NOLINT: values pass the border
  DynamicValue(const AnyQuantity& q) : value(q.base()), exps(q.exponents()) {}                       // NOLINT
  template <class D> DynamicValue(const Quantity<D, double>& q) : value(q.base()), exps(D::exps) {}  // NOLINT
  template <class N>
    requires(std::is_arithmetic_v<N> && !std::is_same_v<N, bool>)
  DynamicValue(N number) : value(static_cast<double>(number)) {}                       // NOLINT
  DynamicValue(std::same_as<bool> auto flag) : value(flag) {}                          // NOLINT
  DynamicValue(const char* text) : value(std::string(text)) {}                         // NOLINT
  DynamicValue(std::string text) : value(std::move(text)) {}                           // NOLINT
  DynamicValue(HostRef host) : value(std::move(host)) {}                               // NOLINT
  template <Choice E> DynamicValue(E choice) : value(std::string(name_of(choice))) {}  // NOLINT
  /// A spec; it must outlive the use of the value.
  template <class O>
    requires requires { ObjectType<O>::name; }
  DynamicValue(const O* object) : value(ObjectRef{object, ObjectType<O>::name}) {}  // NOLINT

  friend bool operator==(const DynamicValue&, const DynamicValue&) = default;
  [[nodiscard]] std::string text() const;
};

/// Stores a value in a field after checking dimension, kind and range; a whole number fits a count.
/// @throws DimensionError, InputError, DomainError, LookupError
void write_checked(const FieldInfo& field, void* object, const DynamicValue& value);
/// A field's value with its dimension.
[[nodiscard]] DynamicValue read_dynamic(const FieldInfo& field, const void* object);
/// True where the member is a DynamicValue in memory, as in the structs of resolvers made at run time.
[[nodiscard]] bool is_dynamic(const FieldInfo& field);

}  // namespace mlsysim
