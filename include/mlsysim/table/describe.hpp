#pragma once
/// The field table seen at run time: names, units, kinds, offsets and erased access.
///
/// `describe<S>()` is built once from `S::fields()`. Nested table structs are flattened with dotted names.

#include <mlsysim/table/choice.hpp>
#include <mlsysim/table/field.hpp>
#include <mlsysim/table/value.hpp>
#include <mlsysim/units/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// Name under which pointers to `T` are known at the border; specialised beside each spec type.
template <class T>
struct ObjectType;  // static constexpr std::string_view name

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
  bool integral = false;  ///< a count
  std::string_view object_type{};              ///< for objects
  std::span<const std::string_view> choices{};  ///< for choices
  Value default_value{};
  Value (*get)(const void* member) = nullptr;
  /// Stores a value of the right kind (numbers in the base unit); throws InputError otherwise.
  void (*set)(void* member, const Value& value, const FieldInfo& info) = nullptr;

  [[nodiscard]] Value read(const void* object) const { return get(static_cast<const std::byte*>(object) + offset); }
  void write(void* object, const Value& value) const { set(static_cast<std::byte*>(object) + offset, value, *this); }
};

namespace detail {

[[noreturn]] void wrong_kind(const FieldInfo& info, const Value& value);
[[noreturn]] void unknown_choice(const FieldInfo& info, const std::string& name);

template <class M>
struct Access {
  static_assert(sizeof(M) == 0, "a field of a table is a Quantity, a number, bool, std::string, an enumeration with "
                                "Choices, a pointer to a spec, an optional of these, or another table struct");
};
template <Scalar M>
struct Access<M> {
  static constexpr ValueKind kind = ValueKind::number;
  static constexpr Exponents exps{};
  static Value get(const void* p) { return *static_cast<const M*>(p); }
  static void set(void* p, const Value& v, const FieldInfo& info) {
    if (const auto* x = std::get_if<double>(&v)) *static_cast<M*>(p) = *x;
    else wrong_kind(info, v);
  }
};
template <class D>
struct Access<Quantity<D, double>> {
  static constexpr ValueKind kind = ValueKind::quantity;
  static constexpr Exponents exps = D::exps;
  static Value get(const void* p) { return static_cast<const Quantity<D, double>*>(p)->base(); }
  static void set(void* p, const Value& v, const FieldInfo& info) {
    if (const auto* x = std::get_if<double>(&v)) *static_cast<Quantity<D, double>*>(p) = Quantity<D>::from_base(*x);
    else wrong_kind(info, v);
  }
};
template <>
struct Access<bool> {
  static constexpr ValueKind kind = ValueKind::flag;
  static constexpr Exponents exps{};
  static Value get(const void* p) { return *static_cast<const bool*>(p); }
  static void set(void* p, const Value& v, const FieldInfo& info) {
    if (const auto* x = std::get_if<bool>(&v)) *static_cast<bool*>(p) = *x;
    else wrong_kind(info, v);
  }
};
template <>
struct Access<std::string> {
  static constexpr ValueKind kind = ValueKind::text;
  static constexpr Exponents exps{};
  static Value get(const void* p) { return *static_cast<const std::string*>(p); }
  static void set(void* p, const Value& v, const FieldInfo& info) {
    if (const auto* x = std::get_if<std::string>(&v)) *static_cast<std::string*>(p) = *x;
    else wrong_kind(info, v);
  }
};
template <Choice E>
struct Access<E> {
  static constexpr ValueKind kind = ValueKind::choice;
  static constexpr Exponents exps{};
  static Value get(const void* p) { return std::string(name_of(*static_cast<const E*>(p))); }
  static void set(void* p, const Value& v, const FieldInfo& info) {
    const auto* x = std::get_if<std::string>(&v);
    if (x == nullptr) wrong_kind(info, v);
    const auto e = choice_of<E>(*x);
    if (!e) unknown_choice(info, *x);
    *static_cast<E*>(p) = *e;
  }
};
template <class O>
struct Access<const O*> {
  static constexpr ValueKind kind = ValueKind::object;
  static constexpr Exponents exps{};
  static Value get(const void* p) {
    const O* o = *static_cast<const O* const*>(p);
    return o == nullptr ? Value{} : Value{ObjectRef{o, ObjectType<O>::name}};
  }
  static void set(void* p, const Value& v, const FieldInfo& info) {
    const auto* x = std::get_if<ObjectRef>(&v);
    if (x == nullptr || x->type != ObjectType<O>::name) wrong_kind(info, v);
    *static_cast<const O**>(p) = static_cast<const O*>(x->object);
  }
};
template <class M>
struct Access<std::optional<M>> {
  static constexpr ValueKind kind = Access<M>::kind;
  static constexpr Exponents exps = Access<M>::exps;
  static Value get(const void* p) {
    const auto& o = *static_cast<const std::optional<M>*>(p);
    return o ? Access<M>::get(&*o) : Value{};
  }
  static void set(void* p, const Value& v, const FieldInfo& info) {
    auto& o = *static_cast<std::optional<M>*>(p);
    if (std::holds_alternative<std::monostate>(v)) {
      o.reset();
      return;
    }
    M value{};
    Access<M>::set(&value, v, info);
    o = std::move(value);
  }
};

template <class M>
inline constexpr bool is_optional_v = false;
template <class M>
inline constexpr bool is_optional_v<std::optional<M>> = true;
template <class M>
struct unwrap {
  using type = M;
};
template <class M>
struct unwrap<std::optional<M>> {
  using type = M;
};

/// Makes an empty table struct. A member type that only the framework may make (the summary of a search) befriends it.
template <class S>
struct Blank {
  static S make() { return S{}; }
};

template <class S>
void append_fields(std::vector<FieldInfo>& out, const std::string& prefix, std::size_t base, const S& defaults) {
  for_each_field<S>([&]<class M>(const Field<S, M>& row) {
    const M& member = defaults.*row.member;
    const auto offset = base + static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&member) -
                                                        reinterpret_cast<const std::byte*>(&defaults));
    if constexpr (HasFields<M>) {
      append_fields<M>(out, prefix + std::string(row.name) + ".", offset, member);
    } else {
      using Inner = typename unwrap<M>::type;
      FieldInfo f;
      f.name = prefix + std::string(row.name);
      f.unit = row.unit;
      f.meaning = row.meaning;
      f.default_source = row.source;
      f.kind = Access<M>::kind;
      f.exps = Access<M>::exps;
      f.offset = offset;
      f.size = sizeof(M);
      f.shared = row.shared && prefix.empty();
      f.nullable = is_optional_v<M> || (std::is_pointer_v<M> && row.has_default);
      f.low = row.low;
      f.high = row.high;
      f.open_low = row.open_low;
      f.integral = row.integral;
      if constexpr (std::is_pointer_v<Inner>) f.object_type = ObjectType<std::remove_const_t<std::remove_pointer_t<Inner>>>::name;
      if constexpr (Choice<Inner>) f.choices = Choices<Inner>::names;
      f.get = &Access<M>::get;
      f.set = &Access<M>::set;
      f.default_value = Access<M>::get(&member);
      // An initialiser that differs from the empty value is a default; a default of zero says so in the table.
      f.required = !row.has_default && !f.nullable && Access<M>::get(&member) == [] { M empty{}; return Access<M>::get(&empty); }();
      out.push_back(std::move(f));
    }
  });
}

}  // namespace detail

/// All fields of a table struct over double, nested structs flattened; built once.
template <TableStruct S>
[[nodiscard]] std::span<const FieldInfo> describe() {
  static const std::vector<FieldInfo> fields = [] {
    std::vector<FieldInfo> out;
    const S defaults = detail::Blank<S>::make();
    detail::append_fields<S>(out, "", 0, defaults);
    return out;
  }();
  return fields;
}

/// The field of this name, or null.
[[nodiscard]] const FieldInfo* find_field(std::span<const FieldInfo> fields, std::string_view name);

/// Checks the range of a number in the field's base unit; throws DomainError naming field, value, range and unit.
void check_range(const FieldInfo& field, double base);

/// Checks every number of `object` for being finite and within its field's range.
void check_ranges(std::span<const FieldInfo> fields, const void* object);

}  // namespace mlsysim
