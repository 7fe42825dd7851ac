#pragma once
/// Members of table structs without their types: the form of a member, and access to it through functions.
///
/// The zoo's reader and writer, its schema, digests and Python walk over structs. Each is one function over
/// these rows instead of a template for each struct.
/// Example: in `field_table<HardwareNode>()` the row "memory" has the form `MemberForm::table`.

#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/reflect/field.hpp>
#include <mlsysim/reflect/value.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/error.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace mlsysim {

/// The form in which a member holds its value.
enum class MemberForm : unsigned char {
  number,        ///< double
  quantity,      ///< Quantity<D>: the number in the base unit
  any_quantity,  ///< AnyQuantity
  flag,          ///< bool
  text,          ///< std::string
  choice,        ///< an enumeration with names
  object,        ///< a pointer to a spec
  maybe,         ///< std::optional: `count` is 0 or 1
  list,          ///< std::vector
  slots,         ///< a fixed list whose places have the names `choices`
  table,         ///< another table struct
};

/// The type of a member. Pointers to functions are null where the form has no use for them.
struct MemberType {
  MemberForm form;
  ValueKind kind = ValueKind::any;
  std::size_t size = 0;                         ///< [byte]
  Exponents exps{};                             ///< of a quantity
  std::string_view what{};                      ///< meaning of a choice; the type of an object
  std::span<const std::string_view> choices{};  ///< names of choices and slots
  const MemberType* item = nullptr;             ///< the type inside maybe, list and slots
  const TableInfo& (*table)() = nullptr;        ///< rows of a table
  std::size_t (*count)(const void*) = nullptr;  ///< items of maybe, list and slots
  void* (*at)(void*, std::size_t) = nullptr;    ///< address of item i of maybe, list and slots
  void* (*append)(void*) = nullptr;             ///< a new last one of maybe and list
  void (*clear)(void*) = nullptr;               ///< of maybe and list
  std::size_t (*index)(const void*) = nullptr;  ///< position of a choice
  Value (*get)(const void*) = nullptr;          ///< of forms that a Value can hold
  void (*set)(void*, const Value&, const FieldInfo&) = nullptr;

  /// The type without std::optional around it.
  [[nodiscard]] constexpr const MemberType& inner() const {
    return form == MemberForm::maybe ? *item : *this;
  }
  [[nodiscard]] const void* item_at(const void* p, std::size_t i) const {
    return at(const_cast<void*>(p), i);
  }
};

/// One row of a struct's table.
struct TableRow : FieldRow {
  std::size_t offset = 0;  ///< of the member [byte]
  const MemberType* type = nullptr;

  [[nodiscard]] const void* in(const void* object) const {
    return static_cast<const std::byte*>(object) + offset;
  }
  [[nodiscard]] void* in(void* object) const { return static_cast<std::byte*>(object) + offset; }
  /// Whether a file must give it: every one without a default, unless absence is a value of its type.
  [[nodiscard]] bool must_be_given() const {
    return !has_default && type->form != MemberForm::maybe && type->form != MemberForm::list;
  }
};

/// The table of a struct.
struct TableInfo {
  std::span<const TableRow> rows;
  const void* blank;  ///< an object with every default

  /// The row of this name, or null.
  [[nodiscard]] const TableRow* row(std::string_view name) const;
};

namespace detail {

[[noreturn]] void wrong_kind(const FieldInfo& info, const Value& value);
[[noreturn]] void unknown_choice(const FieldInfo& info, const std::string& name);

template <class M> struct Access {
  static_assert(sizeof(M) == 0,
                "a field of a table is a Quantity, a number, bool, std::string, an enumeration with "
                "Choices, a pointer to a spec, an optional of these, or another table struct");
};
template <Scalar M> struct Access<M> {
  static constexpr ValueKind kind = ValueKind::number;
  static constexpr Exponents exps{};
  static Value get(const void* p) { return *static_cast<const M*>(p); }
  static void set(void* p, const Value& v, const FieldInfo& info) {
    if (const auto* x = std::get_if<double>(&v))
      *static_cast<M*>(p) = *x;
    else
      wrong_kind(info, v);
  }
};
/// A quantity is stored as the number in its base unit.
template <class D> struct Access<Quantity<D, double>> : Access<double> {
  static_assert(std::is_standard_layout_v<Quantity<D, double>> &&
                sizeof(Quantity<D, double>) == sizeof(double));
  static constexpr ValueKind kind = ValueKind::quantity;
  static constexpr Exponents exps = D::exps;
};
template <> struct Access<bool> {
  static constexpr ValueKind kind = ValueKind::flag;
  static constexpr Exponents exps{};
  static Value get(const void* p) { return *static_cast<const bool*>(p); }
  static void set(void* p, const Value& v, const FieldInfo& info) {
    if (const auto* x = std::get_if<bool>(&v))
      *static_cast<bool*>(p) = *x;
    else
      wrong_kind(info, v);
  }
};
template <> struct Access<std::string> {
  static constexpr ValueKind kind = ValueKind::text;
  static constexpr Exponents exps{};
  static Value get(const void* p) { return *static_cast<const std::string*>(p); }
  static void set(void* p, const Value& v, const FieldInfo& info) {
    if (const auto* x = std::get_if<std::string>(&v))
      *static_cast<std::string*>(p) = *x;
    else
      wrong_kind(info, v);
  }
};
template <Choice E> struct Access<E> {
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
template <class O> struct Access<const O*> {
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
template <class M> struct Access<std::optional<M>> {
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

template <class M> inline constexpr bool is_optional_v = false;
template <class M> inline constexpr bool is_optional_v<std::optional<M>> = true;
template <class M> struct unwrap { using type = M; };
template <class M> struct unwrap<std::optional<M>> { using type = M; };

/// A fixed list of values whose places have names.
template <class M>
concept Slots = requires(M m) {
  M::slot_names;
  m.slots;
};

/// Makes an empty table struct. A member type that only the framework may make (the summary of a search)
/// befriends it.
template <class S> struct Blank {
  static S make() { return S{}; }
};

/// The MemberType of `M`. Specialized for types outside the core language.
template <class M> struct TypeOf;

template <class M> constexpr MemberType plain_type(MemberForm form) {
  return {.form = form,
          .kind = Access<M>::kind,
          .size = sizeof(M),
          .exps = Access<M>::exps,
          .get = &Access<M>::get,
          .set = &Access<M>::set};
}
template <class M> struct TypeOf {
  static constexpr MemberType make() {
    if constexpr (HasFields<M>) {
      return {.form = MemberForm::table, .size = sizeof(M), .table = &field_table<M>};
    } else if constexpr (std::is_same_v<M, AnyQuantity>) {
      return {.form = MemberForm::any_quantity, .size = sizeof(M)};
    } else if constexpr (Choice<M>) {
      auto type = plain_type<M>(MemberForm::choice);
      type.what = Choices<M>::what;
      type.choices = Choices<M>::names;
      type.index = [](const void* p) { return static_cast<std::size_t>(*static_cast<const M*>(p)); };
      return type;
    } else if constexpr (std::is_pointer_v<M>) {
      auto type = plain_type<M>(MemberForm::object);
      type.what = ObjectType<std::remove_const_t<std::remove_pointer_t<M>>>::name;
      return type;
    } else {
      return plain_type<M>(std::is_same_v<M, bool>          ? MemberForm::flag
                           : std::is_same_v<M, std::string> ? MemberForm::text
                           : is_quantity_v<M>               ? MemberForm::quantity
                                                            : MemberForm::number);
    }
  }
  static constexpr MemberType value = make();
};
template <Slots M> struct TypeOf<M> {
  using Item = typename decltype(M::slots)::value_type;
  static constexpr MemberType value{
      .form = MemberForm::slots,
      .size = sizeof(M),
      .exps = Access<Item>::exps,
      .choices = M::slot_names,
      .item = &TypeOf<Item>::value,
      .count = [](const void* p) { return static_cast<const M*>(p)->slots.size(); },
      .at = [](void* p, std::size_t i) -> void* { return &static_cast<M*>(p)->slots[i]; }};
};
template <class M> struct TypeOf<std::optional<M>> {
  using C = std::optional<M>;
  static constexpr MemberType make() {
    MemberType type{.form = MemberForm::maybe, .size = sizeof(C), .item = &TypeOf<M>::value};
    type.count = [](const void* p) { return std::size_t{static_cast<const C*>(p)->has_value()}; };
    type.at = [](void* p, std::size_t) -> void* { return &**static_cast<C*>(p); };
    type.append = [](void* p) -> void* { return &static_cast<C*>(p)->emplace(); };
    type.clear = [](void* p) { static_cast<C*>(p)->reset(); };
    if constexpr (TypeOf<M>::value.get != nullptr) {
      type.kind = Access<C>::kind;
      type.exps = Access<C>::exps;
      type.get = &Access<C>::get;
      type.set = &Access<C>::set;
    }
    return type;
  }
  static constexpr MemberType value = make();
};
template <class M> struct TypeOf<std::vector<M>> {
  using C = std::vector<M>;
  static constexpr MemberType value{
      .form = MemberForm::list,
      .size = sizeof(C),
      .item = &TypeOf<M>::value,
      .count = [](const void* p) { return static_cast<const C*>(p)->size(); },
      .at = [](void* p, std::size_t i) -> void* { return &(*static_cast<C*>(p))[i]; },
      .append = [](void* p) -> void* { return &static_cast<C*>(p)->emplace_back(); },
      .clear = [](void* p) { static_cast<C*>(p)->clear(); }};
};

}  // namespace detail

/// The table of a struct over double, made once.
template <class S> const TableInfo& field_table() {
  struct Made {
    S blank = detail::Blank<S>::make();
    std::array<TableRow, decltype(S::fields())::size> rows;
    TableInfo info;
    Made() : info{rows, &blank} {
      static constexpr auto fields = S::fields();
      std::size_t i = 0;
      for_each_row(fields, [&]<class M>(const Field<S, M>& f) {
        const auto* member = reinterpret_cast<const std::byte*>(&(blank.*f.member));
        const auto offset = static_cast<std::size_t>(member - reinterpret_cast<const std::byte*>(&blank));
        rows[i++] = {f, offset, &detail::TypeOf<M>::value};
      });
    }
  };
  static const Made made;
  return made.info;
}

}  // namespace mlsysim
