// The three tiers are contracts also at run time: who may search, and that who searches looked at something.
#include "samples.hpp"

#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>

#include "support/catch.hpp"

#include <array>

namespace tiers_test {

using namespace mlsysim;

struct Number {
  double x = 1;
  static constexpr auto fields() { return rows(field(&Number::x, "x", "", "a number").defaulted("1")); }
};
struct Searched {
  SearchSummary search;
  double best = 0;
  static constexpr auto fields() {
    return rows(field(&Searched::search, "search", "", "what was tried"),
                field(&Searched::best, "best", "", "the best number"));
  }
};

struct SmallestOptimizer : Optimizer<SmallestOptimizer> {
  using Inputs = Number;
  using Result = Searched;
  std::optional<Result> solve(const Inputs& in, Search& search) const {
    const std::array<double, 3> candidates{in.x, in.x + 1, in.x + 2};
    const auto found = search.minimize(candidates, [](const double& x) -> Score { return {x}; });
    return Result{found.summary, *found};
  }
};
struct OptimizerOfOptimizers : Optimizer<OptimizerOfOptimizers> {
  using Inputs = Number;
  using Result = Searched;
  std::optional<Result> solve(const Inputs& in, Search& search) const {
    const std::array<double, 2> candidates{in.x, in.x + 1};
    const auto found = search.minimize(
        candidates, [](const double& x) -> Score { return {evaluate(SmallestOptimizer{}, {x})->best}; });
    return Result{found.summary, *found};
  }
};
/// An Optimizer that lets its Search look at nothing and answers all the same.
struct GuessingOptimizer : Optimizer<GuessingOptimizer> {
  using Inputs = Number;
  using Result = Searched;
  std::optional<Result> solve(const Inputs& in, Search& search) const {
    const std::vector<double> nothing;
    const auto found = search.minimize(nothing, [](const double& x) -> Score { return {x}; });
    return Result{found.summary, in.x};
  }
};
struct SearchingModel : Model<SearchingModel> {
  using Inputs = Number;
  using Result = Number;
  Result solve(const Inputs& in) const { return {evaluate(SmallestOptimizer{}, {in.x})->best}; }
};
struct SearchingSolver : Solver<SearchingSolver> {
  using Inputs = Number;
  using Result = Number;
  Result solve(const Inputs& in) const {
    Search search;
    return {SmallestOptimizer{}.solve(in, search)->best};
  }
};

TEST_CASE("a Model or a Solver that runs an Optimizer is refused by name", "[resolve]") {
  CHECK_THROWS_WITH(evaluate(SearchingModel{}, {}), ContainsSubstring("the Model 'SearchingModel' runs"));
  CHECK_THROWS_WITH(evaluate(SearchingSolver{}, {}), ContainsSubstring("the Solver 'SearchingSolver' runs"));
  // Behind the erased interface too, and nothing is left over after the refusal.
  ResolverRegistry registry;
  const auto& erased = registry.add<SearchingModel>();
  CHECK_THROWS_AS(evaluate(erased, Record(erased, Side::inputs)), SolverError);
  CHECK(evaluate(SmallestOptimizer{}, {2.0})->best == 2.0);
}

TEST_CASE("an Optimizer may run an Optimizer", "[resolve]") {
  const auto answer = evaluate(OptimizerOfOptimizers{}, {3.0});
  REQUIRE(answer);
  CHECK(answer->best == 3.0);
  CHECK(answer->search.total_searched() == 2);
}

TEST_CASE("an Optimizer that looked at nothing has no answer", "[resolve]") {
  try {
    (void)evaluate(GuessingOptimizer{}, {});
    FAIL("it answered");
  } catch (const SolverError& e) {
    CHECK_THAT(e.what(), ContainsSubstring("'GuessingOptimizer' answers without a search"));
    CHECK(e.facts().key == "search.total_searched");
  }
}

}  // namespace tiers_test
