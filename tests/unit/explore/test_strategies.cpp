// The strategies that prove nothing: against closed forms, against every point, and what they refuse.

#include "sample_problems.hpp"

#include <support/catch.hpp>

#include <cmath>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {

ExploreOptions by(Strategy strategy) {
  ExploreOptions o;
  o.strategy = strategy;
  return o;
}

}  // namespace

TEST_CASE("slopes find a minimum between the points of a grid", "[explore][gradient]") {
  if (!is_built(Strategy::gradient)) {
    CHECK_THROWS_WITH(explore(Space(ring(), {axis("bandwidth=50 GB/s..900 GB/s:5")}), minimize("time"),
                              by(Strategy::gradient)),
                      ContainsSubstring("libnlopt-dev"));
    return;
  }
  // time = 2 (n - 1) (m / (n b) + alpha). With f = time / 1 ms + b / 100 GB/s the best b is sqrt(2 (n-1)/n m
  // 1e14) B/s.
  const Space space(ring(), {axis("bandwidth=50 GB/s..2000 GB/s:7"), axis("ranks=8")});
  const auto q = minimize("time / 1 ms + bandwidth / 100 GB/s");
  const double best = std::sqrt(2 * 7.0 / 8 * 1e9 * 1e14);
  const auto a = explore(space, q, by(Strategy::gradient));
  REQUIRE(a.best.size() == 1);
  CHECK(a.best[0].between);
  CHECK(a.best[0].objectives[0] == Approx(14 * (1e9 / (8 * best) + 5e-6) / 1e-3 + best / 1e11).epsilon(1e-9));
  CHECK(a.exactness == Exactness::heuristic);
  CHECK_THAT(a.method, ContainsSubstring("NLopt"));
  CHECK(a.complete);
  // No point of the grid is better, and a fine grid comes close.
  const auto all = explore(space, q, by(Strategy::exhaustive));
  CHECK(a.best[0].objectives[0] < all.best[0].objectives[0]);
  const Space fine(ring(), {axis("bandwidth=50 GB/s..2000 GB/s:20001"), axis("ranks=8")});
  CHECK(explore(fine, q, by(Strategy::exhaustive)).best[0].objectives[0] ==
        Approx(a.best[0].objectives[0]).epsilon(1e-6));
  // Same seed, same bytes.
  CHECK(explore(space, q, by(Strategy::gradient)).best[0].objectives == a.best[0].objectives);
}

TEST_CASE("slopes keep to constraints and enumerate counts", "[explore][gradient]") {
  if (!is_built(Strategy::gradient)) return;
  // The least bandwidth at which 1 GB is reduced within 5 ms: m 2 (n-1)/n / (5 ms - 2 (n-1) alpha), least for
  // 2 ranks.
  const Space space(ring(), {axis("bandwidth=10 GB/s..2000 GB/s:5"), axis("ranks=2,8,64")});
  const auto a = explore(space, minimize("bandwidth", {"time <= 5 ms"}), by(Strategy::gradient));
  REQUIRE(a.best.size() == 1);
  CHECK(a.best[0].objectives[0] == Approx(1e9 / (5e-3 - 2 * 5e-6)).epsilon(1e-7));
  CHECK(a.best[0].labels[1] == "2");
  // An equality, met as far as numbers go.
  const auto equal = explore(space, minimize("ranks", {"time == 5 ms"}), by(Strategy::gradient));
  REQUIRE(equal.best.size() == 1);
  CHECK(equal.best[0].objectives[0] == 2);
  const auto none = explore(space, minimize("bandwidth", {"time <= 1 us"}), by(Strategy::gradient));
  CHECK(none.best.empty());
  CHECK_THAT(none.why_infeasible().text(), ContainsSubstring("time <= 1 us"));
}

TEST_CASE("slopes work through the whole model", "[explore][gradient]") {
  if (!is_built(Strategy::gradient)) return;
  const auto s = scenario("Llama3_70B", "H100", 8, Mode::serve, 16);
  const Space space(problem_of(s),
                    {axis("hardware.memory.bandwidth=1 TB/s..8 TB/s:9"),
                     axis("hardware.compute.dense=200 TFLOP/s..4000 TFLOP/s:9"), axis("tp_size=4,8")});
  // What a designer pays: area for bandwidth and for arithmetic.
  const auto q = minimize("hardware.memory.bandwidth / 1 TB/s + hardware.compute.dense / 500 TFLOP/s",
                          {"itl <= 14 ms", "ttft <= 1 s"});
  const auto grid = explore(space, q, by(Strategy::exhaustive));
  const auto a = explore(space, q, by(Strategy::gradient));
  REQUIRE_FALSE(grid.best.empty());
  REQUIRE_FALSE(a.best.empty());
  CHECK(a.best[0].objectives[0] <= grid.best[0].objectives[0]);
  const Space fine(problem_of(s),
                   {axis("hardware.memory.bandwidth=1 TB/s..8 TB/s:300"),
                    axis("hardware.compute.dense=200 TFLOP/s..4000 TFLOP/s:300"), axis("tp_size=4,8")});
  const auto best = explore(fine, q, by(Strategy::exhaustive)).best[0].objectives[0];
  CHECK(a.best[0].objectives[0] <= best * (1 + 1e-9));
  CHECK(a.best[0].objectives[0] == Approx(best).epsilon(0.02));
}

TEST_CASE("generations find the best point of spaces that can be enumerated", "[explore][evolutionary]") {
  const Space space(ring(), {axis("ranks=2..64"), axis("message=1 MB..1 GB:101log"),
                             axis("bandwidth=50 GB/s..900 GB/s:41")});
  const auto q = minimize("time / 1 ms + bandwidth / 100 GB/s", {"ranks * message >= 3 GB", "time <= 20 ms"});
  if (!is_built(Strategy::evolutionary)) {
    CHECK_THROWS_WITH(explore(space, q, by(Strategy::evolutionary)), ContainsSubstring("libpagmo-dev"));
    return;
  }
  const auto all = explore(space, q, by(Strategy::exhaustive));
  auto o = by(Strategy::evolutionary);
  o.evaluations = 10000;
  const auto a = explore(space, q, o);
  REQUIRE(a.best.size() == 1);
  CHECK(a.best[0].objectives[0] >= all.best[0].objectives[0]);
  CHECK(a.best[0].objectives[0] == Approx(all.best[0].objectives[0]).epsilon(0.02));
  CHECK(a.exactness == Exactness::heuristic);
  CHECK(a.evaluated <= 10000 + 64);
  CHECK(a.evaluated < all.evaluated / 20);
  CHECK(a.covered == a.evaluated);
  const auto again = explore(space, q, o);
  CHECK(again.best[0].index == a.best[0].index);
  CHECK(again.evaluated == a.evaluated);
  // A space as small as the number of evaluations is enumerated.
  const Space small(ring(), {axis("ranks=2..9"), axis("bandwidth=50 GB/s..900 GB/s:4")});
  const auto whole = explore(small, minimize("time"), o);
  CHECK(whole.best[0].index == explore(small, minimize("time"), by(Strategy::exhaustive)).best[0].index);
}

TEST_CASE("generations find most of a front", "[explore][evolutionary]") {
  if (!is_built(Strategy::evolutionary)) return;
  auto s = scenario("Llama3_70B", "H100", 8, Mode::serve, 1);
  SpaceAxis precision{{"precision"}, {{DynamicValue("fp16")}, {DynamicValue("fp8")}}, {}};
  const Space space(problem_of(s), {precision, axis("batch_size=1..256"), axis("tp_size=2,4,8"),
                                    axis("seq_len=512..4096*2")});
  Question q;
  q.objectives = {{Goal::minimize, "itl"}, {Goal::minimize, "cost_per_token"}};
  const auto all = explore(space, q, by(Strategy::exhaustive));
  auto o = by(Strategy::evolutionary);
  o.evaluations = 3000;
  const auto a = explore(space, q, o);
  REQUIRE_FALSE(a.front.empty());
  const auto reference = all.nadir();
  CHECK(a.hypervolume(reference) > 0.97 * all.hypervolume(reference));
  CHECK(a.hypervolume(reference) <= all.hypervolume(reference) * (1 + 1e-12));
}

TEST_CASE("heuristic strategies say what they cannot answer", "[explore][gradient][evolutionary]") {
  const Space counts(ring(), {axis("ranks=2..64")});
  auto two = minimize("time");
  two.objectives.push_back({Goal::maximize, "ranks"});
  if (is_built(Strategy::gradient)) {
    CHECK_THROWS_WITH(explore(counts, minimize("time"), by(Strategy::gradient)),
                      ContainsSubstring("no axis is over a continuous number"));
    CHECK_THROWS_WITH(explore(counts, two, by(Strategy::gradient)), ContainsSubstring("one objective"));
    const auto whole = scenario("StableDiffusion_v1_5", "H100", 1, Mode::infer, 1);
    CHECK_THROWS_WITH(explore(Space(problem_of(whole), {axis("kwh_price=0.1 USD/kWh..0.2 USD/kWh:3")}),
                              minimize("tco"), by(Strategy::gradient)),
                      ContainsSubstring("not a law"));
  }
  if (is_built(Strategy::evolutionary)) {
    auto o = by(Strategy::evolutionary);
    o.shards = 2;
    CHECK_THROWS_WITH(explore(counts, minimize("time"), o), ContainsSubstring("exhaustive"));
    o.shards = 1;
    o.evaluations = 1;
    CHECK_THROWS_WITH(explore(counts, minimize("time"), o), ContainsSubstring("out of range"));
  }
}
