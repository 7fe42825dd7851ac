#pragma once
/// Inverts a law or model: finds the value of one input at which an output meets a target.
///
/// A law is inverted on its tape, any other model by finite differences. "No solution" is an answer with its
/// reason.
/// Limits: the domain is the range of the input's field. tape/invert.hpp has the method.
/// Example: time = weights / (devices hbm) with 140 GB on 4 devices: `solve_for(Sharded{}, in, "hbm",
/// equals("time", 10 * unit::ms))` gives 3.5 TB/s. At 1 TB/s, `at_most("time", 50 * unit::ms)` needs 3
/// devices.

#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolver_api/typed_resolver.hpp>
#include <mlsysim/tape/invert.hpp>

#include <string_view>
#include <vector>

namespace mlsysim {

/// The condition on an output.
struct Target {
  std::string_view output;
  Relation relation = Relation::equals;
  AnyQuantity value;
};

template <class D> [[nodiscard]] Target equals(std::string_view output, const Quantity<D, double>& value) {
  return {output, Relation::equals, value};
}
[[nodiscard]] inline Target equals(std::string_view output, double value) {
  return {output, Relation::equals, AnyQuantity(value)};
}
template <class D> [[nodiscard]] Target at_least(std::string_view output, const Quantity<D, double>& limit) {
  return {output, Relation::at_least, limit};
}
[[nodiscard]] inline Target at_least(std::string_view output, double limit) {
  return {output, Relation::at_least, AnyQuantity(limit)};
}
template <class D> [[nodiscard]] Target at_most(std::string_view output, const Quantity<D, double>& limit) {
  return {output, Relation::at_most, limit};
}
[[nodiscard]] inline Target at_most(std::string_view output, double limit) {
  return {output, Relation::at_most, AnyQuantity(limit)};
}

/// An input that meets the target, with everything that follows from it.
template <class R> struct SolvedFor {
  AnyQuantity value;          ///< of the free input; the first where there are several
  inputs_of<R> inputs;        ///< with the free input set
  result_of<R> result;        ///< at these inputs
  Inversion inversion;        ///< all solutions, the domain, and how it was searched
  Verification verification;  ///< the residual, or the integer threshold
};

namespace detail {
struct Solved {
  double value = 0;
  std::size_t free = 0;
  Inversion inversion;
  Verification verification;
};
/// Counts exist only where all of `only` holds.
/// @throws LookupError for names that are none, DimensionError for a target of another dimension
[[nodiscard]] Outcome<Solved> solve_backwards(const LawEntry& law, std::vector<double> in,
                                              std::string_view free, const Target& target,
                                              std::vector<Required> only = {});
}  // namespace detail

/// Finds the value of input `free` at which the target is met, the other inputs being as given.
///
/// "No solution in the domain" is an answer that says what can be reached. A resolver that is not a law is
/// inverted by finite differences, and the inversion says so. The domain is the range of the field; see
/// tape/invert.hpp.
/// @throws LookupError for names that are none, DimensionError for a target of another dimension
template <class R>
[[nodiscard]] Outcome<SolvedFor<R>> solve_for(const R& resolver,
                                              const std::type_identity_t<inputs_of<R>>& inputs,
                                              std::string_view free, const Target& target) {
  static_assert(detail::shape_is_right<R>());
  const auto entry = [&] {
    if constexpr (TemplateResolver<R>)
      return entry_of<typename detail::law_of<R>::type>();
    else
      return plain_entry(resolver, inputs, LawInfo{.id = detail::id_of<R>(), .equation = "", .source = ""});
  }();
  std::vector<double> point;
  for (const auto& f : entry.inputs) point.push_back(detail::read_number(f, &inputs));
  auto solved = detail::solve_backwards(entry, std::move(point), free, target);
  if (!solved) return *solved.why();
  const auto& field = entry.inputs[solved->free];
  SolvedFor<R> out{AnyQuantity::from_base(solved->value, field.exps), inputs,
                   detail::Blank<result_of<R>>::make(), solved->inversion, solved->verification};
  detail::write_number(field, &out.inputs, solved->value);
  Notes silent;
  Infeasible why;
  if (!detail::solve_into(resolver, out.inputs, out.result, nullptr, silent, why)) return why;
  return out;
}

}  // namespace mlsysim
