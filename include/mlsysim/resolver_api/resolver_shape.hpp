#pragma once
/// Compile-time checks of a resolver type, and the call of its `solve` in any accepted form.
///
/// The first error of a wrong type is one sentence that names the fault. contract.hpp lists the accepted
/// forms.
/// Example: a `solve` that is not const stops with "solve must be const: a resolver keeps no state from one
/// call to the next".

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/reflect/law.hpp>
#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/resolver_api/outcome.hpp>
#include <mlsysim/resolver_api/resolver_info.hpp>
#include <mlsysim/resolver_api/search_summary.hpp>

#include <optional>
#include <string_view>
#include <type_traits>

namespace mlsysim {

class Search;

namespace detail {

template <class R>
concept HasPlainStructs = requires {
  typename R::Inputs;
  typename R::Result;
};
template <class R>
concept HasTemplateStructs = requires {
  typename R::template Inputs<double>;
  typename R::template Result<double>;
};

template <class R> struct structs {
  using inputs = void;
  using result = void;
};
template <HasPlainStructs R> struct structs<R> {
  using inputs = typename R::Inputs;
  using result = typename R::Result;
};
template <HasTemplateStructs R> struct structs<R> {
  using inputs = typename R::template Inputs<double>;
  using result = typename R::template Result<double>;
};

}  // namespace detail

/// The `Inputs` of a resolver, over double.
template <class R> using inputs_of = typename detail::structs<R>::inputs;
/// The `Result` of a resolver, over double.
template <class R> using result_of = typename detail::structs<R>::result;

/// A resolver whose Inputs, Result and solve are templates over the scalar: a law, with every generic tool.
template <class R>
concept TemplateResolver = detail::HasTemplateStructs<R>;

namespace detail {

template <class R> consteval Tier tier_of() {
  if constexpr (requires { R::tier; })
    return R::tier;
  else
    return Tier::model;
}

template <class X, class R>
inline constexpr bool is_answer_v =
    std::is_same_v<X, result_of<R>> || std::is_same_v<X, std::optional<result_of<R>>> ||
    std::is_same_v<X, Outcome<result_of<R>>>;

/// The ways in which `solve` may be written.
enum class Form { none, in, in_notes, in_search, in_search_notes, law };

template <class R> consteval Form form_of() {
  using In = inputs_of<R>;
  if constexpr (TemplateResolver<R>) {
    if constexpr (requires(const In& in) {
                    { R::template solve<double>(in) } -> std::same_as<result_of<R>>;
                  })
      return Form::law;
    else
      return Form::none;
  } else if constexpr (requires(const R& r, const In& in, Notes& n) { r.solve(in, n); }) {
    return Form::in_notes;  // first: a resolver may offer the short form beside it
  } else if constexpr (requires(const R& r, const In& in) { r.solve(in); }) {
    return Form::in;
  } else if constexpr (requires(const R& r, const In& in, Search& s) { r.solve(in, s); }) {
    return Form::in_search;
  } else if constexpr (requires(const R& r, const In& in, Search& s, Notes& n) { r.solve(in, s, n); }) {
    return Form::in_search_notes;
  } else {
    return Form::none;
  }
}

template <class R>
inline constexpr bool takes_search_v = form_of<R>() == Form::in_search
                                       || form_of<R>() == Form::in_search_notes;

/// Calls `solve` in whichever form it has. @param search may be null unless the form takes one
template <class R>
decltype(auto) call_solve(const R& r, const inputs_of<R>& in, Search* search, Notes& notes) {
  constexpr Form form = form_of<R>();
  if constexpr (form == Form::law)
    return R::template solve<double>(in);
  else if constexpr (form == Form::in)
    return r.solve(in);
  else if constexpr (form == Form::in_notes)
    return r.solve(in, notes);
  else if constexpr (form == Form::in_search)
    return r.solve(in, *search);
  else
    return r.solve(in, *search, notes);
}

/// Whether a table has a row that is a SearchSummary, or the count of one under its name.
template <class S> consteval bool holds_summary() {
  bool found = false;
  for_each_field<S>([&](const auto& f) {
    found = found || f.name == "total_searched" ||
            std::is_same_v<typename std::remove_cvref_t<decltype(f)>::member_type, SearchSummary>;
  });
  return found;
}

template <class R> consteval bool solve_is_right() {
  constexpr Form form = form_of<R>();
  if constexpr (form == Form::none) {
    if constexpr (TemplateResolver<R>) {
      static_assert(
          form != Form::none,
          "a resolver with template Inputs and Result needs: template <class T = double> static Result<T> "
          "solve(const Inputs<T>& in)");
    } else if constexpr (requires(R & r, const inputs_of<R>& in) { r.solve(in); }) {
      static_assert(form != Form::none,
                    "solve must be const: a resolver keeps no state from one call to the next");
    } else if constexpr (tier_of<R>() == Tier::optimizer) {
      static_assert(
          form != Form::none,
          "an Optimizer needs: std::optional<Result> solve(const Inputs& in, Search& search) const");
    } else {
      static_assert(form != Form::none, "a resolver needs one method: Result solve(const Inputs& in) const");
    }
    return false;
  } else {
    using Given = std::remove_cvref_t<decltype(call_solve<R>(
        std::declval<const R&>(), std::declval<const inputs_of<R>&>(), std::declval<Search*>(),
        std::declval<Notes&>()))>;
    static_assert(is_answer_v<Given, R>,
                  "solve must return Result, std::optional<Result> or Outcome<Result>");
    constexpr bool searches = takes_search_v<R>;
    static_assert(
        !(searches && tier_of<R>() != Tier::optimizer),
        "a Model or Solver must not search over options: derive from Optimizer<> to receive a Search");
    static_assert(
        searches || tier_of<R>() != Tier::optimizer,
        "an Optimizer must take the Search as its second argument, so that what it counts is measured: "
        "std::optional<Result> solve(const Inputs& in, Search& search) const");
    static_assert(
        !searches || holds_summary<result_of<R>>(),
        "the Result of an Optimizer needs a member 'SearchSummary search' in its table, for what was tried");
    return true;
  }
}

/// Compiles exactly for types of the right shape; the first error of a wrong one is a sentence about it.
template <class R> consteval bool shape_is_right() {
  constexpr bool has_structs = HasPlainStructs<R> || HasTemplateStructs<R>;
  static_assert(has_structs,
                "a resolver needs two nested structs, each with a field table: struct Inputs { ... }; struct "
                "Result { ... };");
  if constexpr (has_structs) {
    static_assert(
        HasFields<inputs_of<R>>,
        "Inputs needs its field table: MLSYSIM_FIELDS(Inputs, every, member) as the last line of the struct");
    static_assert(
        HasFields<result_of<R>>,
        "Result needs its field table: MLSYSIM_FIELDS(Result, every, member) as the last line of the struct");
    if constexpr (HasFields<inputs_of<R>> && HasFields<result_of<R>>)
      return table_is_complete<inputs_of<R>>() && table_is_complete<result_of<R>>() && solve_is_right<R>();
  }
  return false;
}

/// Name of a type without its namespaces.
template <class R> consteval std::string_view type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("R = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  const auto colon = text.substr(0, text.find('<')).rfind("::");
  return colon == text.npos ? text : text.substr(colon + 2);
}

/// The name of a resolver: its `id`, its law's id, or the name of its type.
template <class R> consteval std::string_view id_of() {
  if constexpr (requires { std::string_view(R::id); })
    return R::id;
  else if constexpr (requires { std::string_view(R::info.id); })
    return R::info.id;
  else
    return type_name<R>();
}

}  // namespace detail

/// A type that follows the three-tier contract.
template <class R>
concept ResolverType = detail::shape_is_right<R>();

/// Everything that `R` says about itself.
template <class R> [[nodiscard]] ResolverInfo info_of() {
  ResolverInfo info;
  info.name = detail::id_of<R>();
  info.tier = detail::tier_of<R>();
  if constexpr (requires { std::string_view(R::about); }) info.about = R::about;
  if constexpr (requires { std::string_view(R::law); })
    info.law = R::law;
  else if constexpr (requires { std::string_view(R::info.equation); })
    info.law = R::info.equation;
  if constexpr (requires { std::string_view(R::source); })
    info.source = R::source;
  else if constexpr (requires { std::string_view(R::info.source); })
    info.source = R::info.source;
  if constexpr (requires { R::walls; })
    for (const int wall : R::walls) info.walls.push_back(wall);
  if constexpr (requires { R::fallacies; })
    for (const Fallacy& f : R::fallacies)
      info.fallacies.push_back({std::string(f.misconception), std::string(f.correction)});
  if constexpr (requires { R::thread_safe; })
    info.thread_safe = R::thread_safe;
  else
    info.thread_safe = TemplateResolver<R>;  // a law is pure
  return info;
}

}  // namespace mlsysim
