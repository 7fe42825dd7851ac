#pragma once
/// Contract of the three tiers: a resolver derives from Model, Solver or Optimizer and has a method `solve`.
///
/// | tier      | answers                       | method                                                      |
/// |-----------|-------------------------------|-------------------------------------------------------------|
/// | Model     | Y = f(X)                      | `Result solve(const Inputs&) const`                         |
/// | Solver    | X = f^-1(Y), or the gradient  | `Result solve(const Inputs&) const`                         |
/// | Optimizer | max f(x) subject to g(x) <= c | `std::optional<Result> solve(const Inputs&, Search&) const` |
///
/// Inputs and Result are nested structs with field tables. Invariants: deterministic, no state, no clock, no
/// globals. `evaluate` and pipelines pass inputs that are finite and within the ranges of their table.
/// Example: RequiredBandwidthSolver with Inputs {workload, target_latency} and Result {required_bw} returns
/// 16.06 GB / 10 ms = 1606 GB/s. `verify` recomputes the latency, 10 ms.

#include <mlsysim/resolver_api/check.hpp>
#include <mlsysim/resolver_api/resolver_shape.hpp>

namespace mlsysim {

/// `solve` may take a `Notes&` as its last argument to record assumptions and warnings. `using Model::solve;`
/// then offers the form without it. It may return `std::optional<Result>` or `Outcome<Result>` where "there
/// is none" is an answer. A Model whose Inputs, Result and solve are templates over the scalar is a law. It
/// needs no base class and has derivatives, bounds, sweeps and derivations.
///
/// Optional static members: `id` (default: the name of the type), `about` (one line), `law` (the equation as
/// text), `source` (key of the references), `walls` (array of int), `fallacies` (array of Fallacy),
/// `thread_safe` (default: false, for laws true). A Solver may have `Check verify(const Inputs&, const
/// Result&) const`, or name the law that it inverts: `using inverts = SomeLaw;`.

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
