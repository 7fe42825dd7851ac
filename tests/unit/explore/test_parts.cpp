// Searches that several workers share: the answer of one, whatever they tell each other.

#include "sample_problems.hpp"

#include <mlsysim/explore/search/parts.hpp>
#include <support/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {

Question least(const char* objective, std::vector<std::string> constraints = {}) {
  Question q;
  q.objectives = {{Goal::minimize, objective}};
  q.constraints = std::move(constraints);
  return q;
}

ExploreAnswer every_point(const Space& space, const Question& q) {
  ExploreOptions o;
  o.strategy = Strategy::exhaustive;
  o.threads = 1;
  return explore(space, q, o);
}

struct Searched {
  BoundedPart best;
  double boxes = 0;
};

/// Workers one after the other, each of which hears of what those before it have found, or of nothing.
Searched in_parts(const Space& space, const Question& q, std::uint64_t parts, bool share) {
  Searched out{.best = {.value = HUGE_VAL}};
  double known = HUGE_VAL;
  const ShareBest tell = [&](double mine) { return known = std::min(known, mine); };
  for (std::uint64_t part = 1; part <= parts; ++part) {
    const auto one = bounded_part(space, q, {}, part, parts, share ? tell : ShareBest());
    CHECK(one.proven);
    known = std::min(known, one.value);
    out.boxes += one.boxes;
    if (std::pair(one.value, one.index) < std::pair(out.best.value, out.best.index) ||
        out.best.value == HUGE_VAL)
      out.best = one;
  }
  return out;
}

}  // namespace

TEST_CASE("shared bounds find what exhaustive search finds, for any number of workers", "[explore][bounds]") {
  std::mt19937 random(5);
  double shared = 0, apart = 0;
  for (int i = 0; i < 60; ++i) {
    const auto n = std::to_string(40 + random() % 200);
    const Space space(ring(), {axis(("ranks=2.." + n).c_str()), axis("message=1 kB..1 GB:40log"),
                               axis("bandwidth=1 GB/s..1 TB/s:30log")});
    const auto q = least(i % 2 == 0 ? "time * bandwidth / message + 0.001 * ranks" : "time / message",
                         {"ranks * message >= " + std::to_string(1 + random() % 20) + " MB"});
    const auto all = every_point(space, q);
    REQUIRE(all.best.size() == 1);
    for (const std::uint64_t parts : {1u, 2u, 4u, 7u}) {
      const auto together = in_parts(space, q, parts, true), alone = in_parts(space, q, parts, false);
      INFO(i << " of " << parts);
      REQUIRE(together.best.index == all.best[0].index);
      REQUIRE(alone.best.index == all.best[0].index);
      REQUIRE(bounded_answer(space, q, together.best).best[0].objectives == all.best[0].objectives);
      CHECK(together.boxes <= alone.boxes);
      if (parts == 1) continue;
      shared += together.boxes;
      apart += alone.boxes;
    }
  }
  CHECK(shared < 0.97 * apart);
}

TEST_CASE("workers of equal points keep the lowest of all", "[explore][bounds]") {
  // The objective does not depend on the second axis, so that every worker has points that are as good.
  const Space space(ring(), {axis("alpha=1 us..9 us:400"), axis("bandwidth=400 GB/s..900 GB/s:300")});
  const auto q = least("alpha", {"bandwidth >= 500 GB/s"});
  const auto all = every_point(space, q);
  for (const std::uint64_t parts : {1u, 3u, 4u})
    CHECK(in_parts(space, q, parts, true).best.index == all.best[0].index);
}

TEST_CASE("what has no bounds, and parts that there are not, are refused", "[explore][bounds]") {
  const Space space(ring(), {axis("ranks=2..24"), axis("bandwidth=50 GB/s..900 GB/s:17")});
  auto q = least("time");
  CHECK(no_shared_bounds(space, q).empty());
  CHECK_THROWS_AS(bounded_part(space, q, {}, 3, 2, {}), InputError);
  q.top = 2;
  CHECK_THROWS_AS(bounded_part(space, q, {}, 1, 2, {}), SolverError);
}

TEST_CASE("states are joined in a tree to the bytes of one run", "[explore]") {
  const Space space(ring(), {axis("ranks=2..40"), axis("bandwidth=50 GB/s..900 GB/s:33")});
  auto q = least("time", {"time <= 4 ms"});
  q.histogram = "time";
  q.top = 4;
  std::vector<std::string> states;
  for (std::uint64_t k = 1; k <= 5; ++k) {
    ExploreOptions o;
    o.strategy = Strategy::exhaustive;
    o.shard = k;
    o.shards = 5;
    states.push_back(explore(space, q, o).state);
  }
  const auto join = [&](std::vector<std::string> some) { return join_states(space, q, some); };
  const auto left = join({join({states[1], states[0]}), states[2]}), right = join({states[3], states[4]});
  const auto whole = merge(space, q, std::vector<std::string>{right, left});
  CHECK(whole.state == merge(space, q, states).state);
  CHECK(whole.best[0].index == every_point(space, q).best[0].index);
  CHECK_THROWS_WITH(join({states[0], states[2]}), ContainsSubstring("a shard is missing"));
  CHECK_THROWS_WITH(join({left, states[2]}), ContainsSubstring("a shard is there twice"));
  CHECK_THROWS_WITH(merge(space, q, std::vector<std::string>{right}),
                    ContainsSubstring("a shard is missing"));
}
