#pragma once
/// The contract of the three tiers: Model, Solver, Optimizer.
///
/// A resolver is a struct that derives from one of the three, with two nested table structs and one method:
///
/// | tier      | answers                       | method                                                      |
/// |-----------|-------------------------------|-------------------------------------------------------------|
/// | Model     | Y = f(X)                      | `Result solve(const Inputs&) const`                         |
/// | Solver    | X = f^-1(Y), or the gradient  | the same                                                    |
/// | Optimizer | max f(x) subject to g(x) <= c | `std::optional<Result> solve(const Inputs&, Search&) const` |
///
/// `solve` may take a `Notes&` as its last argument to state assumptions and warnings; `using Model::solve;`
/// then offers the form without it. It may return `std::optional<Result>` or `Outcome<Result>` where "there
/// is none" is an answer. A Model whose Inputs, Result and solve are templates over the scalar is a law:
/// derivatives, bounds, sweeps and derivations come with it; it needs no base class.
///
/// Invariants: deterministic, no state, no clock, no globals, no call of another resolver by name; inputs are
/// finite and within the ranges of their table when they come through `evaluate` or a pipeline.
///
/// Optional static members: `id` (default: the name of the type), `about` (one line), `law` (the equation as
/// text), `source` (key of the references), `walls` (array of int), `fallacies` (array of Fallacy),
/// `thread_safe` (default: false; laws: true). A Solver may have `Check verify(const Inputs&, const Result&)
/// const`, or name the law that it inverts: `using inverts = SomeLaw;`.

#include <mlsysim/resolver_api/check.hpp>
#include <mlsysim/resolver_api/resolver_shape.hpp>

namespace mlsysim {

namespace detail {

/// The form of `solve` without notes, of resolvers that take some.
template <class Derived> struct QuietSolve {
  template <class R = Derived>
    requires requires(const R& r, const typename R::Inputs& in, Notes& notes) { r.solve(in, notes); }
  [[nodiscard]] auto solve(const typename R::Inputs& in) const {
    Notes quiet;
    return static_cast<const R&>(*this).solve(in, quiet);
  }
};

}  // namespace detail

/// Y = f(X). @tparam Derived the resolver itself
template <class Derived> struct Model : detail::QuietSolve<Derived> {
  static constexpr Tier tier = Tier::model;
  constexpr Model() noexcept { static_assert(detail::shape_is_right<Derived>()); }
};

/// X = f^-1(Y), or the gradient of f. @tparam Derived the resolver itself
template <class Derived> struct Solver : detail::QuietSolve<Derived> {
  static constexpr Tier tier = Tier::solver;
  constexpr Solver() noexcept { static_assert(detail::shape_is_right<Derived>()); }
};

/// max f(x) subject to g(x) <= c. @tparam Derived the resolver itself
template <class Derived> struct Optimizer {
  static constexpr Tier tier = Tier::optimizer;
  constexpr Optimizer() noexcept { static_assert(detail::shape_is_right<Derived>()); }
};

}  // namespace mlsysim
