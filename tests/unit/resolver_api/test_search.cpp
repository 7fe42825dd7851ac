#include "samples.hpp"

#include <mlsysim/resolver_api/axes.hpp>
#include <mlsysim/resolver_api/evaluate.hpp>

#include "support/catch.hpp"

#include <numeric>

using namespace mlsysim;
using namespace mlsysim::literals;
using namespace sample;

namespace {

void add_device(Zoo& zoo, const char* name, double tflops, double usd) {
  HardwareNode hw;
  hw.name = name;
  hw.compute.dense[Precision::fp16] = tflops * unit::TFLOP / unit::s;
  if (usd > 0) hw.unit_cost = usd * unit::USD;
  Entry entry;
  entry.kind = "hardware";
  entry.name = name;
  zoo.add(hw, entry);
}

Zoo small_zoo() {
  Zoo zoo;
  add_device(zoo, "Small", 65, 2000);
  add_device(zoo, "Middle", 165, 8000);
  add_device(zoo, "Large", 989, 30000);
  add_device(zoo, "Secret", 2000, 0);
  add_device(zoo, "Dear", 990, 40000);
  return zoo;
}

struct Plan {
  double tp_size, pp_size;
  MLSYSIM_FIELDS(Plan, tp_size, pp_size)
};
struct Wait {
  Time<> time;
  MLSYSIM_FIELDS(Wait, time)
};

}  // namespace

TEST_CASE("the search counts, and names what binds", "[resolve]") {
  const auto zoo = small_zoo();
  const auto answer =
      evaluate(CheapestHardwareOptimizer{}, {.zoo = &zoo, .min_rate = 300 * unit::TFLOP / unit::s});
  REQUIRE(answer);
  CHECK(answer->hardware_name == "Large");
  CHECK(answer->cheapest_cost == 30000 * unit::USD);
  const auto& s = answer->search;
  CHECK(s.total_searched() == 5);
  CHECK(s.feasible() == 2);
  CHECK(s.infeasible() == 2);
  CHECK(s.skipped() == 1);
  REQUIRE(s.skip_reasons().size() == 1);
  CHECK(s.skip_reasons()[0].reason == "no unit_cost");
  CHECK(s.exactness() == Exactness::enumerated);
  CHECK(s.binding_constraint() == "peak");
  CHECK(s.relaxation() == "peak at least 65 TFLOP/s instead of 300 TFLOP/s admits 'Small'");
  CHECK(s.objective() == AnyQuantity(30000 * unit::USD));
}

TEST_CASE("an empty search says what to relax", "[resolve]") {
  const auto zoo = small_zoo();
  const auto answer =
      evaluate(CheapestHardwareOptimizer{}, {.zoo = &zoo, .min_rate = 5 * unit::PFLOP / unit::s});
  CHECK_FALSE(answer);
  CHECK(answer.why()->reason == "none of 5 candidates meets every constraint; binding: peak");
  CHECK(answer.why()->smallest_change == "peak at least 990 TFLOP/s instead of 5 PFLOP/s admits 'Dear'");
  const Zoo empty;
  CHECK(evaluate(CheapestHardwareOptimizer{}, {.zoo = &empty, .min_rate = 1 * unit::TFLOP / unit::s})
            .why()
            ->reason == "there are no candidates to search");
}

TEST_CASE("several constraints: the one that admits the best binds", "[resolve]") {
  Search search;
  const std::vector<double> sizes{1, 2, 3, 4, 5, 6};
  const auto score = [](double x) -> Score { return {x, {at_least("low", x, 3), at_most("high", x, 4)}}; };
  const auto least = search.minimize(sizes, score);
  CHECK(*least == 3);
  CHECK(least.summary.binding_constraint() == "low");
  CHECK(search.maximize(sizes, score).summary.binding_constraint() == "high");
  const auto none = search.minimize(sizes, [](double x) -> Score {
    return {x, {at_least("low", x, 5), at_most("high", x, 0.5)}};
  });
  CHECK_FALSE(none);
  CHECK(none.summary.binding_constraint() == "high");
  const auto both = search.minimize(sizes, [](double x) -> Score {
    return {x, {at_least("low", x, 7), at_most("high", x, 0.5)}};
  });
  CHECK(both.summary.binding_constraint() == "low and high");
}

TEST_CASE("ties go to the earlier candidate, temporaries are kept", "[resolve]") {
  Search search;
  const auto score = [](double x) -> Score { return {x * x}; };
  CHECK(*search.minimize(std::vector<double>{2, -1, 1}, score) == -1);
  CHECK(*search.maximize(std::vector<double>{-2, 2, 1}, score) == -2);
}

TEST_CASE("a grid of axes is a range of table structs", "[resolve]") {
  const Grid<Plan> grid{divisors_of(8), range(1, 3)};
  REQUIRE(grid.size() == 12);
  CHECK(grid[0].tp_size == 1);
  CHECK(grid[4].tp_size == 2);
  CHECK(grid[4].pp_size == 2);
  Search search;
  const auto best = search.minimize(grid, [](const Plan& p) -> Score {
    return {p.tp_size + p.pp_size, {at_least("devices", p.tp_size * p.pp_size, 12)}};
  });
  REQUIRE(best);
  CHECK(best->tp_size == 4);
  CHECK(best->pp_size == 3);
  CHECK(best.summary.best() == "tp_size=4, pp_size=3");
  const Grid<Wait> waits{choices(10 * unit::ms, 20 * unit::ms)};
  CHECK(waits[1].time == 20 * unit::ms);
  CHECK_THROWS_AS((Grid<Wait>{choices(1, 2)}), DimensionError);
  CHECK_THROWS_AS((Grid<Plan>{choices(1, 2)}), InputError);
  CHECK_THROWS_AS(divisors_of(2.5), DomainError);
  CHECK_THROWS_AS(range(3, 1), DomainError);
  CHECK(divisors_of(36).size() == 9);
  CHECK(range(0.1, 0.5, 0.1).size() == 5);
}

TEST_CASE("a Pareto front holds exactly what nobody beats", "[resolve]") {
  const std::vector<std::pair<double, double>> points{{1, 5}, {2, 3}, {2, 4}, {4, 1}, {5, 5}, {0, 9}};
  Search search;
  const auto front = search.pareto(points, [](const auto& p) -> ParetoScore {
    return {{p.first, p.second}, {at_most("second", p.second, 8)}};
  });
  REQUIRE(front.points.size() == 3);
  CHECK(front.points[0].item->first == 1);
  CHECK(front.points[1].item->second == 3);
  CHECK(front.points[2].objectives == std::vector<double>{4, 1});
  CHECK(front.summary.feasible() == 5);
  CHECK(front.summary.infeasible() == 1);
}

TEST_CASE("a search can be watched and stopped", "[resolve]") {
  CancelToken stop;
  std::vector<std::size_t> seen;
  Search search({.cancel = &stop,
                 .progress = [&](const SearchProgress& p) { seen.push_back(p.searched); },
                 .progress_every = 10});
  std::vector<double> many(100);
  std::iota(many.begin(), many.end(), 0.0);
  const auto found = search.maximize(many, [&](double x) -> Score {
    if (x == 24) stop.cancel();
    return {x};
  });
  CHECK(*found == 24);
  CHECK(found.summary.cancelled());
  CHECK(found.summary.exactness() == Exactness::heuristic);
  CHECK(seen == std::vector<std::size_t>{10, 20, 25});
}

TEST_CASE("mistakes in a score are named with their candidate", "[resolve]") {
  const auto zoo = small_zoo();
  Search search;
  CHECK_THROWS_WITH(
      search.minimize(zoo.all<HardwareNode>(), [](const HardwareNode&) -> Score { return {std::nan("")}; }),
      ContainsSubstring("while scoring candidate 'Small'"));
  CHECK_THROWS_AS(search.minimize(std::vector<double>{1, 2},
                                  [](double x) -> Score {
                                    if (x > 1) return {1 * unit::s};
                                    return {1.0};
                                  }),
                  DimensionError);
}
