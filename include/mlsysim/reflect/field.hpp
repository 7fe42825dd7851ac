#pragma once
/// The field table: a struct lists its members once, and every tool reads that list.
///
/// `MLSYSIM_FIELDS(Inputs, weights, capacity)` binds members to the vocabulary keys of these names.
/// `field(&Result::x, "x", "GB/s", "meaning")` describes a member that no other struct shares. The table
/// feeds direct calls, pipeline links, JSON, CSV, Python attributes, command-line options, schema and docs.
/// `template <class S = Plan> static constexpr auto fields()` makes the rows of `Plan` in the sources that
/// read them; without the template each source that sees `Plan` makes them.
/// Example: `field(&Inputs::bandwidth, key::bandwidth)` is a row "bandwidth" in GB/s, above 0, of a quantity.

#include <mlsysim/reflect/key.hpp>
#include <mlsysim/reflect/rows.hpp>
#include <mlsysim/reflect/vocabulary.hpp>

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace mlsysim {

/// Name of the objects that pointers to `T` point to. Each spec type specializes it.
template <class T> struct ObjectType;  // static constexpr std::string_view name

struct FieldInfo;
struct MemberType;
struct TableInfo;
/// The rows of a struct without its types (reflect/member.hpp).
template <class S> [[nodiscard]] const TableInfo& field_table();

/// A row of a field table without the member's type.
struct FieldRow {
  std::string_view name;
  std::string_view unit;
  std::string_view meaning;
  bool shared = false;        ///< bound to a vocabulary key, so results and inputs of this name may be linked
  bool has_default = false;   ///< may be left out; the member initializer is then the value
  std::string_view source{};  ///< where the default comes from
  double low = -kUnbounded;   ///< smallest admissible value [display unit]
  double high = kUnbounded;   ///< largest admissible value [display unit]
  bool open_low = false;      ///< `low` itself is not admissible
  bool integral = false;  ///< a count: only whole numbers are meant, derivatives are steps to the next one
  bool per_unit = false;  ///< belongs to each unit of a device; not known where their count is not
  bool summed = false;    ///< a machine of equal parts has the sum over its parts
  bool top = false;       ///< keeps its name, without a path, wherever its table is nested
  bool held = false;      ///< a number of a law that tools do not vary
};

/// One row of a field table.
template <class S, class M> struct Field : FieldRow {
  using struct_type = S;
  using member_type = M;
  M S::*member;

  /// May be left out; `why` names where the default value comes from.
  [[nodiscard]] constexpr Field defaulted(std::string_view why) const {
    Field f = *this;
    f.has_default = true;
    f.source = why;
    return f;
  }
  /// Must be > 0.
  [[nodiscard]] constexpr Field positive() const {
    Field f = *this;
    f.low = 0;
    f.open_low = true;
    return f;
  }
  /// Must be >= 0.
  [[nodiscard]] constexpr Field non_negative() const { return within(0, kUnbounded); }
  /// Must lie in [low, high], in the display unit.
  [[nodiscard]] constexpr Field within(double lowest, double highest) const {
    Field f = *this;
    f.low = lowest;
    f.high = highest;
    f.open_low = false;
    return f;
  }
  /// Must be at least `lowest`, in the display unit.
  [[nodiscard]] constexpr Field at_least(double lowest) const { return within(lowest, kUnbounded); }
  /// Holds whole numbers only (a count).
  [[nodiscard]] constexpr Field counted() const {
    Field f = *this;
    f.integral = true;
    return f;
  }
  /// Belongs to each unit of a device. Where the count of units is not known, a time is 0 and a number 1.
  [[nodiscard]] constexpr Field of_each_unit() const {
    Field f = *this;
    f.per_unit = true;
    return f;
  }
  /// Has one name wherever its table is nested: "tp_size", never "plan.tp_size".
  [[nodiscard]] constexpr Field at_top() const {
    Field f = *this;
    f.top = true;
    return f;
  }
  /// Is a number that tools do not vary, because categories were derived from it.
  [[nodiscard]] constexpr Field fixed() const {
    Field f = *this;
    f.held = true;
    return f;
  }
  /// Adds up over equal parts.
  [[nodiscard]] constexpr Field sum_of_parts() const {
    Field f = *this;
    f.summed = true;
    return f;
  }
};

namespace detail {
/// The member type with the scalar replaced by double, and without optional<>: the type of a key.
template <class M> struct plain { using type = M; };
template <class M>
  requires(Scalar<M>)
struct plain<M> {
  using type = double;
};
template <class D, class T> struct plain<Quantity<D, T>> { using type = Quantity<D, double>; };
template <class M> struct plain<std::optional<M>> { using type = typename plain<M>::type; };
template <class M> using plain_t = typename plain<M>::type;
}  // namespace detail

/// Binds a member to a key of the vocabulary, with the key's range.
template <class S, class M, class V>
[[nodiscard]] constexpr Field<S, M> field(M S::*member, const Key<V>& key) {
  static_assert(std::is_same_v<detail::plain_t<M>, V>,
                "this member has another type or dimension than the vocabulary key it is bound to");
  return {{.name = key.name,
           .unit = key.unit,
           .meaning = key.meaning,
           .shared = true,
           .low = key.low,
           .high = key.high,
           .open_low = key.open_low,
           .integral = key.integral},
          member};
}

/// A member of this struct alone.
template <class S, class M>
[[nodiscard]] constexpr Field<S, M> field(M S::*member, std::string_view name, std::string_view unit,
                                          std::string_view meaning) {
  return {{name, unit, meaning, false}, member};
}

/// A struct with a field table.
template <class S>
concept HasFields = requires {
  S::fields();
};

namespace detail {
struct any_member {
  template <class M> operator M() const;  // NOLINT: converts to any member type, in unevaluated contexts only
};
template <std::size_t> using any_member_at = any_member;
template <class S, std::size_t... I> consteval bool takes(std::index_sequence<I...>) {
  return requires { S{any_member_at<I>{}...}; };
}
/// Number of members of an aggregate, tried from `guess`: the usual case costs two tries, not one for each
/// member.
template <class S, std::size_t guess> consteval std::size_t arity() {
  if constexpr (takes<S>(std::make_index_sequence<guess + 1>{}))
    return arity<S, guess + 1>();
  else if constexpr (guess > 0 && !takes<S>(std::make_index_sequence<guess>{}))
    return arity<S, guess - 1>();
  else
    return guess;
}
}  // namespace detail

/// How many members the tables of `S` list; a problem lists categories and labels beside its numbers (see
/// category.hpp).
template <class S> consteval std::size_t listed_members() {
  std::size_t n = 0;
  if constexpr (HasFields<S>) n += decltype(S::fields())::size;
  if constexpr (requires { S::categories(); }) n += decltype(S::categories())::size;
  if constexpr (requires { S::labels(); }) n += decltype(S::labels())::size;
  // A struct that names a base lists its rows too, and holds it as one member.
  if constexpr (requires { typename S::base_type; }) n += 1 - decltype(S::base_type::fields())::size;
  return n;
}

/// A table struct: an aggregate whose table lists every member. Forgetting one is a compile error.
template <class S> consteval bool table_is_complete() {
  static_assert(std::is_aggregate_v<S>,
                "a table struct is a plain aggregate: no constructors, no private members");
  constexpr std::size_t listed = listed_members<S>();
  constexpr std::size_t members = detail::arity<S, listed>();
  static_assert(members == listed, "the field table does not list every member of the struct");
  return members == listed;
}

template <class S>
concept TableStruct = HasFields<S> && table_is_complete<S>();

/// Calls `f(field)` for each row of the table of `S`, in order.
template <HasFields S, class F> constexpr void for_each_field(F&& f) { for_each_row(S::fields(), f); }

}  // namespace mlsysim

// MLSYSIM_FIELDS(Type, a, b, ...): the table of `Type`, each member bound to the key of the same name.
// The helpers expand a list of any length up to 256 by rescanning.
#define MLSYSIM_DETAIL_PARENS ()
#define MLSYSIM_DETAIL_EXPAND(...) \
  MLSYSIM_DETAIL_EXPAND3(MLSYSIM_DETAIL_EXPAND3(MLSYSIM_DETAIL_EXPAND3(MLSYSIM_DETAIL_EXPAND3(__VA_ARGS__))))
#define MLSYSIM_DETAIL_EXPAND3(...) \
  MLSYSIM_DETAIL_EXPAND2(MLSYSIM_DETAIL_EXPAND2(MLSYSIM_DETAIL_EXPAND2(MLSYSIM_DETAIL_EXPAND2(__VA_ARGS__))))
#define MLSYSIM_DETAIL_EXPAND2(...) \
  MLSYSIM_DETAIL_EXPAND1(MLSYSIM_DETAIL_EXPAND1(MLSYSIM_DETAIL_EXPAND1(MLSYSIM_DETAIL_EXPAND1(__VA_ARGS__))))
#define MLSYSIM_DETAIL_EXPAND1(...) __VA_ARGS__
#define MLSYSIM_DETAIL_EACH(member, ...)                                \
  ::mlsysim::field(&mlsysim_table_type::member, ::mlsysim::key::member) \
      __VA_OPT__(, MLSYSIM_DETAIL_AGAIN MLSYSIM_DETAIL_PARENS(__VA_ARGS__))
#define MLSYSIM_DETAIL_AGAIN() MLSYSIM_DETAIL_EACH
#define MLSYSIM_FIELDS(Type, ...)                                                    \
  static constexpr auto fields() {                                                   \
    using mlsysim_table_type = Type;                                                 \
    return ::mlsysim::rows(MLSYSIM_DETAIL_EXPAND(MLSYSIM_DETAIL_EACH(__VA_ARGS__))); \
  }
