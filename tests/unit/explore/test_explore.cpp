// Sweeps and searches against the slow, obvious way: one point after the other.

#include "sample_problems.hpp"

#include <support/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {

/// All slots of one point, evaluated alone.
std::vector<double> slots_at(const Space& space, std::uint64_t index) {
  const Subject s = space.bind(index / space.inner());
  auto point = s.point;
  for (const auto& c : space.columns(s))
    point[c.input] = c.values[index % space.inner() / c.stride % c.values.size()];
  auto slots = point;
  const auto results = s.entry(point);
  slots.insert(slots.end(), results.begin(), results.end());
  return slots;
}

struct Obvious {
  std::vector<std::pair<double, std::uint64_t>> feasible;  ///< signed objective, index
  std::vector<std::vector<double>> vectors;
  double infeasible = 0, skipped = 0;
};

/// Without blocks, threads or bounds.
Obvious obvious(const Space& space, const Question& q, std::vector<std::string> constraints) {
  Obvious out;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    Subject s;
    try {
      s = space.bind(i / space.inner());
    } catch (const Error&) {
      ++out.skipped;
      continue;
    }
    const ExpressionScope scope{s.entry.inputs, s.entry.results};
    const auto slots = slots_at(space, i);
    bool ok = true;
    for (const auto& text : constraints) {
      const auto c = ConstraintExpression::parse(text, scope);
      ok = ok && c.holds(c.left()(std::span<const double>(slots)), c.right()(std::span<const double>(slots)));
    }
    if (!ok) {
      ++out.infeasible;
      continue;
    }
    std::vector<double> v;
    for (const auto& o : q.objectives)
      v.push_back((o.goal == Goal::minimize ? 1 : -1) *
                  Expression::parse(o.text, scope)(std::span<const double>(slots)));
    out.feasible.emplace_back(v.empty() ? 0 : v[0], i);
    out.vectors.push_back(v);
  }
  return out;
}

ExploreOptions exhaustive(unsigned threads = 2) {
  ExploreOptions o;
  o.strategy = Strategy::exhaustive;
  o.threads = threads;
  return o;
}

}  // namespace

TEST_CASE("a sweep finds what one point after the other finds", "[explore]") {
  const auto s = scenario("Llama3_70B", "H100", 8, Mode::serve, 1);
  SpaceAxis precision{
      {"precision"},
      {{DynamicValue("fp16")}, {DynamicValue("fp8")}, {DynamicValue("fp64")}, {DynamicValue("int4")}},
      {}};
  SpaceAxis devices{{"hardware"}, {}, {}};
  for (const char* name : {"A100", "H100", "H200"}) {
    devices.rows.push_back({DynamicValue(&standard_zoo().at<HardwareNode>(name))});
    devices.labels.emplace_back(name);
  }
  const Space space(problem_of(s), {devices, precision, axis("batch_size=1,3,17,64,300"),
                                    axis("tp_size=1,2,4,8"), axis("seq_len=512..4096*2")});
  Question q = minimize("cost_per_token", {"itl <= 40 ms", "ttft <= 4 s"});
  q.top = 7;
  q.show = {"ttft", "itl"};
  const auto answer = explore(space, q, exhaustive());
  auto expected =
      obvious(space, q, {"memory_used <= memory_capacity", "plan_fits >= 1", "itl <= 40 ms", "ttft <= 4 s"});
  std::sort(expected.feasible.begin(), expected.feasible.end());
  CHECK(answer.feasible == static_cast<double>(expected.feasible.size()));
  CHECK(answer.infeasible == expected.infeasible);
  CHECK(answer.skipped == expected.skipped);
  CHECK(answer.skipped > 0);
  REQUIRE(answer.best.size() == 7);
  for (std::size_t k = 0; k < 7; ++k) {
    CHECK(answer.best[k].objectives[0] == Approx(expected.feasible[k].first).epsilon(1e-12));
    CHECK(answer.best[k].index == expected.feasible[k].second);
    CHECK(answer.best[k].shown.size() == 2);
  }
  CHECK(answer.exactness == Exactness::enumerated);
}

TEST_CASE("threads, shards and restarts give the same bytes", "[explore]") {
  const Space space(ring(), {axis("ranks=2..24"), axis("message=1 MB..1 GB:129log"),
                             axis("bandwidth=50 GB/s..900 GB/s:17")});
  Question q;
  q.objectives = {{Goal::minimize, "time"}, {Goal::maximize, "message"}, {Goal::minimize, "bandwidth"}};
  q.constraints = {"time <= 3 ms"};
  q.histogram = "time";
  const auto one = explore(space, q, exhaustive(1));
  CHECK(one.front.size() > 100);
  CHECK(explore(space, q, exhaustive(3)).state == one.state);
  for (const std::uint64_t n : {2u, 5u, 97u}) {
    std::vector<std::string> states;
    for (std::uint64_t k = 1; k <= n; ++k) {
      auto o = exhaustive();
      o.shard = k;
      o.shards = n;
      states.push_back(explore(space, q, o).state);
    }
    std::shuffle(states.begin(), states.end(), std::mt19937(static_cast<unsigned>(n)));
    CHECK(merge(space, q, states).state == one.state);
    states.pop_back();
    CHECK_THROWS_WITH(merge(space, q, states), ContainsSubstring("shard is missing"));
    states.push_back(states.front());
    CHECK_THROWS_AS(merge(space, q, states), InputError);
  }
  // A run that is cancelled and taken up again.
  std::atomic<bool> cancel{false};
  auto o = exhaustive();
  o.cancel = &cancel;
  cancel = true;
  const auto part = explore(space, q, o);
  CHECK_FALSE(part.complete);
  auto again = exhaustive();
  again.resume = part.state;
  CHECK(explore(space, q, again).state == one.state);
  again.resume = "nonsense";
  CHECK_THROWS_WITH(explore(space, q, again), ContainsSubstring("no state"));
  again.resume = one.state;
  CHECK_THROWS_WITH(explore(space, minimize("time"), again), ContainsSubstring("another question"));
}

TEST_CASE("a search that is cancelled while it records its subjects claims nothing", "[explore]") {
  const Space space(ring(), {axis("ranks=2..24"), axis("bandwidth=50 GB/s..900 GB/s:17")});
  std::atomic<bool> cancel{true};
  ExploreOptions o;
  o.strategy = Strategy::branch_and_bound;
  o.cancel = &cancel;
  const auto answer = explore(space, minimize("time"), o);
  CHECK_FALSE(answer.complete);
  CHECK(answer.exactness != Exactness::proven);
  CHECK(answer.best.empty());
}

TEST_CASE("a state that was damaged is refused, not read in part", "[explore]") {
  const Space space(ring(), {axis("ranks=2..24"), axis("bandwidth=50 GB/s..900 GB/s:17")});
  const Question q = minimize("time");
  const std::string good = explore(space, q, exhaustive()).state;
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  auto again = exhaustive();
  for (const auto& bad : {with("\"feasible\":", "\"feasable\":"), with("\"next\":", "\"next\":\"\",\"was\":"),
                          with("\"top\":[", "\"top\":[3,"), with("\"last\":391", "\"last\":392"),
                          with("\"next\":391", "\"next\":400")}) {
    CAPTURE(bad);
    again.resume = bad;
    CHECK_THROWS_WITH(explore(space, q, again), ContainsSubstring("is damaged"));
    CHECK_THROWS_WITH(merge(space, q, std::vector{bad}), ContainsSubstring("is damaged"));
  }
  for (const auto& bad :
       {std::string("[]"), std::string("{}"), with("\"schema\":\"", "\"schema\":3,\"was\":\"")}) {
    again.resume = bad;
    CHECK_THROWS_WITH(explore(space, q, again), ContainsSubstring("no state"));
  }
}

TEST_CASE("shards cover every point once, and those that are not there are refused", "[explore]") {
  for (const std::uint64_t points : {std::uint64_t{1}, std::uint64_t{10}, std::uint64_t{1} << 62})
    for (const std::uint64_t n : {1u, 3u, 64u}) {
      std::uint64_t next = 0;
      for (std::uint64_t k = 1; k <= n; ++k) {
        const auto part = shard_range(points, k, n);
        CHECK(part.first == next);
        next = part.last;
      }
      CHECK(next == points);
    }
  CHECK_THROWS_WITH(shard_range(10, 0, 2), ContainsSubstring("no such shard"));
  CHECK_THROWS_WITH(shard_range(10, 1, 0), ContainsSubstring("no such shard"));
}

TEST_CASE("only an exhaustive search leaves a state", "[explore]") {
  const Space space(ring(), {axis("ranks=2..24"), axis("bandwidth=50 GB/s..900 GB/s:17")});
  ExploreOptions o;
  std::string state;
  o.checkpoint = [&](const std::string& text) { state = text; };
  o.strategy = Strategy::branch_and_bound;
  CHECK_THROWS_WITH(explore(space, minimize("time"), o),
                    ContainsSubstring("restarts belong to an exhaustive search"));
  o.strategy = Strategy::automatic;
  CHECK(explore(space, minimize("time"), o).exactness == Exactness::enumerated);
  CHECK(state == explore(space, minimize("time"), exhaustive()).state);
}

TEST_CASE("branch and bound proves what exhaustive search finds, on random spaces", "[explore][bounds]") {
  std::mt19937 random(3);
  const auto draw = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  int infeasible = 0, pruned = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> ranks, message, bandwidth;
    for (int k = 0; k < 6; ++k) ranks.push_back(std::floor(draw(2, 300)));
    for (int k = 0; k < 9; ++k) message.push_back(std::exp(draw(10, 22)));
    for (int k = 0; k < 7; ++k) bandwidth.push_back(std::exp(draw(20, 28)));
    const Space space(ring(),
                      {numbers_axis("ranks", ranks), numbers_axis("message", message, dim::data::exps),
                       numbers_axis("bandwidth", bandwidth, dim::bandwidth::exps)});
    Question q;
    const char* objectives[] = {"time", "message / time", "time * bandwidth / message + 0.001 * ranks",
                                "bandwidth / ranks"};
    q.objectives = {{random() % 2 == 0 ? Goal::minimize : Goal::maximize, objectives[random() % 4]}};
    q.constraints = {"time <= " + std::to_string(draw(0.01, 20)) + " ms",
                     "ranks * message >= " + std::to_string(draw(0.001, 5)) + " GB"};
    auto o = exhaustive(1);
    const auto all = explore(space, q, o);
    o.strategy = Strategy::branch_and_bound;
    const auto bounded = explore(space, q, o);
    REQUIRE(bounded.exactness ==
            (all.best.empty() && bounded.best.empty() ? Exactness::enumerated : Exactness::proven));
    REQUIRE(bounded.best.size() == all.best.size());
    if (all.best.empty()) {
      ++infeasible;
      continue;
    }
    INFO(i << " " << q.objectives[0].text);
    REQUIRE(bounded.best[0].index == all.best[0].index);
    REQUIRE(bounded.best[0].objectives == all.best[0].objectives);
    REQUIRE(bounded.bound == Approx(all.best[0].objectives[0]).epsilon(1e-11));
    REQUIRE(bounded.evaluated <= all.evaluated);
    if (bounded.evaluated < all.evaluated) ++pruned;
  }
  CHECK(infeasible < 700);
  CHECK(pruned > 100);
}

TEST_CASE("branch and bound searches plans of the full model", "[explore][bounds]") {
  auto s = scenario("Llama3_70B", "H100", 64, Mode::train, 512);
  s.accelerators_per_node = 8;
  SpaceAxis zero{{"zero_stage"}, {{DynamicValue(0.0)}, {DynamicValue(1.0)}, {DynamicValue(3.0)}}, {}};
  const Space space(problem_of(s), {zero, axis("tp_size,pp_size=degrees(64)"),
                                    axis("microbatch_count=1..64*2"), axis("v_stages=1,2,5")});
  const auto q = minimize("step_latency");
  const auto all = explore(space, q, exhaustive());
  auto o = exhaustive();
  o.strategy = Strategy::branch_and_bound;
  const auto bounded = explore(space, q, o);
  REQUIRE_FALSE(all.best.empty());
  CHECK(bounded.best[0].objectives[0] == Approx(all.best[0].objectives[0]).epsilon(1e-12));
  CHECK(bounded.best[0].index == all.best[0].index);
  CHECK(bounded.evaluated < all.evaluated);
  // Threads share the boxes of a round, so that their number changes nothing that is told.
  for (const unsigned threads : {1u, 2u, 5u}) {
    o.threads = threads;
    const auto again = explore(space, q, o);
    CHECK(again.best[0].index == bounded.best[0].index);
    CHECK(again.evaluated == bounded.evaluated);
    CHECK(again.boxes == bounded.boxes);
    CHECK(again.bound == bounded.bound);
  }
  // Tapes that there is no room for are recorded again, and nothing else changes.
  for (const std::size_t most : {std::size_t{0}, std::size_t{20000}}) {
    o.tape_operations = most;
    const auto again = explore(space, q, o);
    CHECK(again.best[0].index == bounded.best[0].index);
    CHECK(again.evaluated == bounded.evaluated);
    CHECK(again.boxes == bounded.boxes);
    CHECK(again.bound == bounded.bound);
  }
  // The scorecard of the best plan says the same.
  auto best = s;
  const auto rows = space.rows_at(all.best[0].index);
  best.zero_stage = space.axes()[0].number(rows[0], 0);
  best.tp_size = space.axes()[1].number(rows[1], 0);
  best.pp_size = space.axes()[1].number(rows[1], 1);
  best.microbatch_count = space.axes()[2].number(rows[2], 0);
  best.v_stages = space.axes()[3].number(rows[3], 0);
  const auto subject = subject_of(best);
  CHECK(subject.entry(subject.point)[subject.result("step_latency")] ==
        Approx(all.best[0].objectives[0]).epsilon(1e-12));
}

TEST_CASE("branch and bound takes no more boxes where a monotone axis is finer", "[explore][bounds]") {
  const auto choices = [](const char* name, std::initializer_list<DynamicValue> values) {
    SpaceAxis a{{name}, {}, {}};
    for (const auto& v : values) a.rows.push_back({v});
    return a;
  };
  const auto answer = [&](int rows) {
    const Space space(
        problem_of(scenario("GPT3", "A100", 64, Mode::train, 64)),
        {choices("recomputation", {"none", "selective", "full"}), choices("zero_stage", {0.0, 1.0, 2.0, 3.0}),
         choices("sequence_parallel", {true, false}), axis("tp_size,pp_size=1x8,2x4,4x2,8x1,2x8,4x4,8x2,8x4"),
         axis("microbatch_count=1..64"), axis(("overlap_efficiency=0..1:" + std::to_string(rows)).c_str())});
    auto o = exhaustive(1);
    o.strategy = Strategy::branch_and_bound;
    return explore(space, minimize("step_latency"), o);
  };
  const auto coarse = answer(400), fine = answer(4000);
  REQUIRE(coarse.exactness == Exactness::proven);
  CHECK(fine.best.at(0).objectives[0] == Approx(coarse.best.at(0).objectives[0]).epsilon(1e-12));
  CHECK(fine.boxes <= 3 * coarse.boxes);
}

TEST_CASE("a front holds exactly the points that nothing beats", "[explore][pareto]") {
  std::mt19937 random(9);
  for (int round = 0; round < 40; ++round) {
    std::vector<double> ranks, message;
    for (int k = 0; k < 12; ++k)
      ranks.push_back(std::floor(std::uniform_real_distribution<double>(2, 40)(random)));
    for (int k = 0; k < 12; ++k)
      message.push_back(std::floor(std::uniform_real_distribution<double>(1, 30)(random)) * 1e6);
    const Space space(ring(),
                      {numbers_axis("ranks", ranks), numbers_axis("message", message, dim::data::exps),
                       axis("bandwidth=100 GB/s,200 GB/s,400 GB/s")});
    Question q;
    q.objectives = {{Goal::minimize, "time"}, {Goal::maximize, "ranks * message"}};
    if (round % 2 == 0) q.objectives.push_back({Goal::minimize, "bandwidth"});
    const auto answer = explore(space, q, exhaustive());
    const auto all = obvious(space, q, {});
    std::vector<std::uint64_t> expected;
    for (std::size_t i = 0; i < all.vectors.size(); ++i) {
      bool beaten = false;
      for (std::size_t j = 0; j < all.vectors.size() && !beaten; ++j) {
        bool no_worse = true, better = false;
        for (std::size_t k = 0; k < q.objectives.size(); ++k) {
          no_worse = no_worse && all.vectors[j][k] <= all.vectors[i][k];
          better = better || all.vectors[j][k] < all.vectors[i][k];
        }
        beaten = no_worse && (better || j < i);
      }
      if (!beaten) expected.push_back(all.feasible[i].second);
    }
    std::vector<std::uint64_t> found;
    for (const auto& p : answer.front) found.push_back(p.index);
    REQUIRE(found == expected);
  }
}

TEST_CASE("the hypervolume of known fronts", "[explore][pareto]") {
  ExploreAnswer a;
  a.objectives = {{Goal::minimize, "x"}, {Goal::maximize, "y"}};
  const auto point = [](double x, double y) {
    return FoundPoint{.index = 0, .labels = {}, .objectives = {x, y}, .shown = {}};
  };
  a.front = {point(1, 1), point(2, 3)};
  // Reference (4, 0): 3 x 1 and, above it, 2 x 2.
  CHECK(a.hypervolume(std::vector<double>{4, 0}) == Approx(7));
  a.front.push_back(point(5, 9));  // beyond the reference: counts for nothing
  CHECK(a.hypervolume(std::vector<double>{4, 0}) == Approx(7));
  CHECK_THROWS_AS(a.hypervolume(std::vector<double>{4}), InputError);
  // Three objectives: a box of 1 x 2 x 3 and one of 2 x 1 x 1 that overlaps it by 1 x 1 x 1.
  a.objectives = {{Goal::minimize, "x"}, {Goal::minimize, "y"}, {Goal::minimize, "z"}};
  a.front = {{.index = 0, .labels = {}, .objectives = {2, 1, 0}, .shown = {}},
             {.index = 1, .labels = {}, .objectives = {1, 2, 2}, .shown = {}}};
  CHECK(a.hypervolume(std::vector<double>{3, 3, 3}) == Approx(6 + 2 - 1));
}

TEST_CASE("the hypervolume of three and four objectives counts unit boxes", "[explore][pareto]") {
  std::mt19937 random(5);
  const int side = 6;
  for (int round = 0; round < 50; ++round) {
    const std::size_t dims = 3 + round % 2;
    ExploreAnswer a;
    a.objectives.assign(dims, {Goal::minimize, "x"});
    for (int i = 0; i < 12; ++i) {
      std::vector<double> x;
      for (std::size_t k = 0; k < dims; ++k) x.push_back(static_cast<double>(random() % side));
      a.front.push_back({.index = 0, .labels = {}, .objectives = std::move(x), .shown = {}});
    }
    int boxes = 1, inside = 0;
    for (std::size_t k = 0; k < dims; ++k) boxes *= side;
    for (int box = 0; box < boxes; ++box)
      inside += std::any_of(a.front.begin(), a.front.end(), [&](const FoundPoint& p) {
        int rest = box;
        for (const double x : p.objectives) {
          if (x > rest % side) return false;
          rest /= side;
        }
        return true;
      });
    REQUIRE(a.hypervolume(std::vector<double>(dims, side)) == Approx(inside));
  }
}

TEST_CASE("an infeasible space says which constraints conflict and what would help", "[explore]") {
  const Space space(ring(), {axis("ranks=2..64"), axis("bandwidth=50 GB/s..900 GB/s:64")});
  const auto a = explore(space, minimize("time", {"time <= 1 ms", "ranks >= 60"}), exhaustive());
  CHECK(a.best.empty());
  const auto why = a.why_infeasible();
  CHECK_THAT(why.text(), ContainsSubstring("time <= 1 ms"));
  // The nearest point with ranks >= 60 has 60 ranks at the highest bandwidth: 2 (59/60) 1 GB / 900 GB/s +
  // latency.
  const auto& time = a.constraints[0];
  REQUIRE(time.nearest);
  CHECK(time.nearest->labels[0] == "60");
  CHECK(time.nearest_left == Approx(slots_at(space, time.nearest->index).back()).epsilon(1));
  CHECK_THAT(time.relaxation, ContainsSubstring("instead of 1 ms"));
}

TEST_CASE("constraints that only exclude each other together are named, with what admits a point",
          "[explore]") {
  const Space space(ring(),
                    {axis("ranks=2..64"), axis("bandwidth=50 GB/s..900 GB/s:64"), axis("message=1 GB,2 GB")});
  // Each can be met; the first with the second cannot, and the third is met by the points that miss one of
  // them.
  const auto a = explore(
      space, minimize("time", {"bandwidth <= 60 GB/s", "time <= 3 ms", "ranks >= 3", "message >= 1 GB"}),
      exhaustive());
  REQUIRE(a.best.empty());
  REQUIRE(a.conflict);
  CHECK(a.conflict->constraints == std::vector<std::string>{"bandwidth <= 60 GB/s", "time <= 3 ms"});
  REQUIRE(a.conflict->nearest);
  CHECK_THAT(a.why_infeasible().text(), ContainsSubstring("without any one of them"));
  // By brute force over the subsets: no smaller set of constraints excludes every point, and this one does.
  const std::vector<std::string> all{"bandwidth <= 60 GB/s", "time <= 3 ms", "ranks >= 3", "message >= 1 GB"};
  for (unsigned set = 1; set < 16; ++set) {
    std::vector<std::string> some;
    for (unsigned k = 0; k < 4; ++k)
      if ((set >> k & 1) != 0) some.push_back(all[k]);
    const bool feasible = !explore(space, minimize("time", some), exhaustive()).best.empty();
    if (some.size() < 2) CHECK(feasible);
    if ((set & 3) == 3)
      CHECK_FALSE(feasible);
    else
      CHECK(feasible);
  }
  // Two constraints that every point misses together: no single relaxation helps, both together do.
  const auto both = explore(space, minimize("time", {"time <= 1 us", "bandwidth >= 901 GB/s"}), exhaustive());
  REQUIRE(both.conflict);
  CHECK(both.conflict->constraints.size() == 1);
  REQUIRE(both.conflict->relaxations.size() == 2);
  CHECK_THAT(both.why_infeasible().text(),
             ContainsSubstring("no single constraint") &&
                 ContainsSubstring("bandwidth at 900 GB/s instead of 901 GB/s"));
  const auto admitted = explore(
      space,
      minimize("time", {"time <= " + std::to_string(1.0001e3 * both.conflict->nearest->objectives[0]) + " ms",
                        "bandwidth >= 900 GB/s"}),
      exhaustive());
  REQUIRE_FALSE(admitted.best.empty());
  CHECK(admitted.best[0].index == both.conflict->nearest->index);
}

TEST_CASE("a front has a hypervolume of its own", "[explore][pareto]") {
  ExploreAnswer a;
  a.objectives = {{Goal::minimize, "x"}, {Goal::maximize, "y"}};
  const auto point = [](double x, double y) {
    return FoundPoint{.index = 0, .labels = {}, .objectives = {x, y}, .shown = {}};
  };
  a.front = {point(1, 1), point(2, 3), point(5, 4)};
  CHECK(a.ideal() == std::vector<double>{1, 4});
  CHECK(a.nadir() == std::vector<double>{5, 1});
  // The box is 4 x 3; the point in the middle dominates 3 x 2 of it.
  REQUIRE(a.relative_hypervolume());
  CHECK(*a.relative_hypervolume() == Approx(6.0 / 12));
  a.front = {point(1, 1)};
  CHECK_FALSE(a.relative_hypervolume());
}

TEST_CASE("questions that do not read are refused", "[explore]") {
  const Space space(ring(), {axis("ranks=2..64")});
  CHECK_THROWS_WITH(explore(space, minimize("tme")), ContainsSubstring("did you mean 'time'"));
  CHECK_THROWS_AS(explore(space, minimize("time", {"time <= 4 W"})), DimensionError);
  CHECK_THROWS_WITH(explore(space, minimize("4 s")), ContainsSubstring("same everywhere"));
  auto o = exhaustive();
  o.shard = 3;
  o.shards = 2;
  CHECK_THROWS_WITH(explore(space, minimize("time"), o), ContainsSubstring("no such shard"));
  Question two;
  two.objectives = {{Goal::minimize, "time"}, {Goal::maximize, "ranks"}};
  o = exhaustive();
  o.strategy = Strategy::branch_and_bound;
  CHECK_THROWS_WITH(explore(space, two, o), ContainsSubstring("one objective"));
}

TEST_CASE("rows come in order with the numbers of their points", "[explore]") {
  const auto s = scenario("Llama3_8B", "H100", 8, Mode::serve, 1);
  SpaceAxis precision{{"precision"}, {{DynamicValue("fp64")}, {DynamicValue("fp16")}}, {}};
  const Space space(problem_of(s), {precision, axis("batch_size=1..300"), axis("seq_len=128,256")});
  Question q;
  q.show = {"itl", "batch_size"};
  std::uint64_t next = 0;
  double skipped = 0;
  visit_points(space, q, 0, space.size(), [&](const RowBlock& b) {
    REQUIRE(b.first == next);
    next += b.points;
    if (!b.skipped.empty()) {
      skipped += static_cast<double>(b.points);
      return;
    }
    for (std::size_t p = 0; p < b.points; p += 37) {
      const auto slots = slots_at(space, b.first + p);
      const auto subject = space.bind((b.first + p) / space.inner());
      CHECK(b.shown[0][p] == Approx(slots[subject.point.size() + subject.result("itl")]).epsilon(1e-13));
      CHECK(b.shown[1][p] == slots[subject.input("batch_size")]);
    }
  });
  CHECK(next == space.size());
}
