#pragma once
/// Checked run of a resolver: input ranges, solve, finite results, verification of solvers, and a report.
///
/// Example: `evaluate(RequiredBandwidthSolver{}, {.workload = &llama, .target_latency = 10_ms})` gives 1606
/// GB/s for 8.03e9 fp16 parameters, with a residual below 1e-12. A target of 0 ms throws DomainError.

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolver_api/input_guard.hpp>
#include <mlsysim/resolver_api/report.hpp>
#include <mlsysim/resolver_api/search.hpp>
#include <mlsysim/resolver_api/tier_scope.hpp>
#include <mlsysim/tape/register.hpp>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace mlsysim {

/// Search options and clock of a checked run.
struct EvaluateOptions {
  SearchOptions search{};
  double (*clock)() = nullptr;  ///< seconds of any clock; without one the report has no time
};

/// A result or the reason why there is none, with its report.
template <class Result> class [[nodiscard]] Answer : public Outcome<Result> {
 public:
  Answer(Outcome<Result> outcome, RunReport report)
      : Outcome<Result>(std::move(outcome)), report_(std::move(report)) {}
  [[nodiscard]] const RunReport& report() const { return report_; }

 private:
  RunReport report_;
};

namespace detail {

/// Bits of the fields that differ from their defaults or have none: a direct call cannot know more.
[[nodiscard]] FieldMask supplied_mask(std::span<const FieldInfo> fields, const void* in);

/// The name of the `fidelity` field of a struct; empty where there is none.
[[nodiscard]] std::string_view fidelity_of(std::span<const FieldInfo> fields, const void* object);

/// Reasons for a missing result that has none of its own.
[[nodiscard]] Infeasible no_answer(std::string_view resolver, const Search* search);

/// @throws SolverError for the result of an Optimizer that looked at no candidate
void check_searched(std::span<const FieldInfo> fields, const void* result, std::string_view resolver);

/// The search of a run, for those that take one.
template <class R> std::optional<Search> search_for(const SearchOptions& options) {
  if constexpr (takes_search_v<R>) return Search(options);
  return std::nullopt;
}

/// Runs `solve` and stores the result; false when infeasible, with the reason in `why`.
template <class R>
bool solve_into(const R& r, const inputs_of<R>& in, result_of<R>& out, Search* search, Notes& notes,
                Infeasible& why) {
  using Given = std::remove_cvref_t<decltype(call_solve<R>(r, in, search, notes))>;
  if constexpr (form_of<R>() == Form::law) {
    out = call_solve<R>(r, in, search, notes);  // pure: it runs nothing else
    return true;
  } else {
    const TierScope scope(tier_of<R>(), id_of<R>());
    const auto store = [&](auto&& given) {
      out = std::forward<decltype(given)>(given);
      if constexpr (tier_of<R>() == Tier::optimizer)
        check_searched(describe<result_of<R>>(), &out, id_of<R>());
      return true;
    };
    auto given = call_solve<R>(r, in, search, notes);
    if constexpr (std::is_same_v<Given, result_of<R>>)
      return store(std::move(given));
    else if (given)
      return store(std::move(given).value());
    if constexpr (std::is_same_v<Given, Outcome<result_of<R>>>)
      why = *given.why();
    else if constexpr (!std::is_same_v<Given, result_of<R>>)
      why = no_answer(id_of<R>(), search);
    return false;
  }
}

/// Puts an answer back into the law that it inverts: fields are matched by name.
[[nodiscard]] Verification verify_by_law(const LawEntry& law, std::span<const FieldInfo> inputs,
                                         const void* in, std::span<const FieldInfo> outputs, const void* out);

template <class R> Verification verification_of(const R& r, const inputs_of<R>& in, const result_of<R>& out) {
  if constexpr (requires {
                  { r.verify(in, out) } -> std::convertible_to<Check>;
                }) {
    return {{r.verify(in, out)}, {}};
  } else if constexpr (requires {
                         { r.verify(in, out) } -> std::convertible_to<std::vector<Check>>;
                       }) {
    return {r.verify(in, out), "verify gave no checks"};
  } else if constexpr (requires { typename R::inverts; }) {
    static_assert(Law<typename R::inverts>,
                  "'inverts' names a law: a struct with info and templates Inputs, Result, solve");
    return verify_by_law(entry_of<typename R::inverts>(), describe<inputs_of<R>>(), &in,
                         describe<result_of<R>>(), &out);
  } else {
    if constexpr (tier_of<R>() == Tier::solver)
      return {{},
              std::string(id_of<R>()) + " has no verify(inputs, result) and names no law that it inverts"};
    else
      return {{}, "only answers of solvers are put back into an equation"};
  }
}

}  // namespace detail

/// Checks the inputs, solves, and checks the answer of a solver.
/// @throws DomainError, InputError for inputs that are out of range or missing; SolverError for a result
/// that is not finite
template <class R>
Answer<result_of<R>> evaluate(const R& resolver, const std::type_identity_t<inputs_of<R>>& inputs,
                              const EvaluateOptions& options = {}) {
  static_assert(detail::shape_is_right<R>());
  using Result = result_of<R>;
  constexpr auto id = detail::id_of<R>();
  static const InputGuard guard(describe<inputs_of<R>>());
  guard.check(&inputs, id);
  RunReport report;
  report.resolver = id;
  report.inputs = describe<inputs_of<R>>();
  report.supplied = detail::supplied_mask(report.inputs, &inputs);
  Notes notes(report.notes);
  std::optional<Search> search = detail::search_for<R>(options.search);
  Infeasible why;
  Result result = detail::Blank<Result>::make();
  const double start = options.clock != nullptr ? options.clock() : 0;
  const bool feasible = detail::solve_into(resolver, inputs, result, search ? &*search : nullptr, notes, why);
  if (options.clock != nullptr) report.seconds = options.clock() - start;
  report.fidelity = detail::fidelity_of(report.inputs, &inputs);
  if (!feasible) {
    report.verification.not_checked = "there is no result";
    return {Outcome<Result>(std::move(why)), std::move(report)};
  }
  check_result(describe<Result>(), &result, id, {describe<inputs_of<R>>(), &inputs});
  if (const auto own = detail::fidelity_of(describe<Result>(), &result); !own.empty()) report.fidelity = own;
  report.verification = detail::verification_of(resolver, inputs, result);
  return {Outcome<Result>(std::move(result)), std::move(report)};
}

}  // namespace mlsysim
