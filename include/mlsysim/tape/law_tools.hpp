#pragma once
/// Sweeps, derivatives, bounds, derivations and inverse problems of a law that is named by its C++ type.
///
/// Programs that name laws by text use `LawEntry` and the headers of the single tools.
/// Example: `solve_for<Roofline>(in, "bandwidth", goal::equals("time", 15 * unit::ms))` with 40 GB of traffic
/// and 10 TFLOP at 1000 TFLOP/s gives 2.67 TB/s.

#include <mlsysim/tape/batch.hpp>
#include <mlsysim/tape/bound.hpp>
#include <mlsysim/tape/derivation.hpp>
#include <mlsysim/tape/gradient.hpp>
#include <mlsysim/tape/invert.hpp>
#include <mlsysim/tape/register.hpp>

#include <initializer_list>
#include <string>
#include <vector>

namespace mlsysim {

/// The numbers of a table struct in canonical base units, in the order of its table.
template <class S> [[nodiscard]] std::vector<double> numbers_of(const S& s) {
  std::vector<double> out(leaf_count<S>);
  read_leaves(s, [&](std::size_t i, double x) { out[i] = x; });
  return out;
}
/// A table struct from such numbers.
template <class S> [[nodiscard]] S from_numbers(std::span<const double> numbers) {
  S s{};
  write_leaves(s, [&](std::size_t i) { return numbers[i]; });
  return s;
}

/// The law's result, unchecked; the same as `L::solve(in)`.
template <Law L>
[[nodiscard]] typename L::template Result<double> evaluate(const typename L::template Inputs<double>& in) {
  return L::template solve<double>(in);
}
/// The law's result after a check of finiteness and ranges. @throws DomainError
template <Law L>
[[nodiscard]] typename L::template Result<double> evaluate_checked(
    const typename L::template Inputs<double>& in) {
  check_ranges(describe<typename L::template Inputs<double>>(), &in);
  return L::template solve<double>(in);
}
template <Law L> [[nodiscard]] BatchResult batch(std::span<const Column> in, std::size_t points) {
  return batch(entry_of<L>(), in, points);
}
template <Law L> [[nodiscard]] Gradient gradient(const typename L::template Inputs<double>& in) {
  return gradient(entry_of<L>(), numbers_of(in));
}
/// Ranges of the results over a box, one range per input in the order of the table; see `bound` of an entry.
template <Law L> [[nodiscard]] Bounds bound(std::span<const Interval> box) {
  return bound(entry_of<L>(), box);
}
template <Law L>
[[nodiscard]] Derivation derive(const typename L::template Inputs<double>& in,
                                std::initializer_list<std::string> open = {}) {
  return derive(entry_of<L>(), numbers_of(in), std::vector<std::string>(open));
}

/// Goals of the typed `solve_for` below. The targets of resolver_api/solve_for.hpp work on any resolver.
namespace goal {

/// `result == target`, for `solve_for`; likewise `at_most` and `at_least`.
template <class D> struct Goal {
  std::string_view result;
  Relation relation;
  Quantity<D> target;
};
template <class D> [[nodiscard]] Goal<D> equals(std::string_view result, Quantity<D> target) {
  return {result, Relation::equals, target};
}
template <class D> [[nodiscard]] Goal<D> at_most(std::string_view result, Quantity<D> target) {
  return {result, Relation::at_most, target};
}
template <class D> [[nodiscard]] Goal<D> at_least(std::string_view result, Quantity<D> target) {
  return {result, Relation::at_least, target};
}
[[nodiscard]] inline Goal<dim::none> equals(std::string_view result, double target) {
  return {result, Relation::equals, Quantity<dim::none>::from_base(target)};
}
[[nodiscard]] inline Goal<dim::none> at_most(std::string_view result, double target) {
  return {result, Relation::at_most, Quantity<dim::none>::from_base(target)};
}
[[nodiscard]] inline Goal<dim::none> at_least(std::string_view result, double target) {
  return {result, Relation::at_least, Quantity<dim::none>::from_base(target)};
}

}  // namespace goal

/// Values of input `free` that meet the goal.
/// @throws LookupError, DimensionError, InputError
template <Law L, class D>
[[nodiscard]] Inversion solve_for(const typename L::template Inputs<double>& in, std::string_view free,
                                  const goal::Goal<D>& wanted, InverseQuery query = {}) {
  const LawEntry& law = entry_of<L>();
  query.free = law.input(free);
  query.result = law.result(wanted.result);
  detail::check_goal(law.results[query.result], D::exps);
  query.relation = wanted.relation;
  query.target = wanted.target.base();
  return invert(law, numbers_of(in), query);
}

}  // namespace mlsysim
