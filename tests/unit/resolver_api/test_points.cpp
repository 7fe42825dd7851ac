// What searches keep is the same for any order of points, and for any parts that are joined.

#include <mlsysim/resolver_api/points.hpp>
#include <mlsysim/resolver_api/search.hpp>

#include <support/catch.hpp>

#include <algorithm>
#include <random>

using namespace mlsysim;

TEST_CASE("the best points and the nearest miss do not depend on the order", "[resolve][points]") {
  std::mt19937 random(4);
  std::vector<TopK::Entry> all;
  for (std::uint64_t i = 0; i < 400; ++i)
    all.emplace_back(static_cast<double>(random() % 50), i);  // many ties
  auto sorted = all;
  std::sort(sorted.begin(), sorted.end());
  for (int turn = 0; turn < 10; ++turn) {
    std::shuffle(all.begin(), all.end(), random);
    TopK top(7);
    NearMiss whole, parts[3];
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto [value, index] = all[i];
      const bool entered = top.add(value, index);
      CHECK(entered == std::binary_search(top.entries().begin(), top.entries().end(), all[i]));
      (void)whole.take(value, 2 * value, index);
      (void)parts[i % 3].take(value, 2 * value, index);
    }
    CHECK(top.entries() == std::vector(sorted.begin(), sorted.begin() + 7));
    CHECK(top.threshold() == sorted[6].first);
    NearMiss joined;
    for (const auto& p : parts) joined.merge(p);
    for (const NearMiss& m : {whole, joined}) {
      CHECK(m.index == sorted[0].second);
      CHECK(m.left == 2 * sorted[0].first);
    }
  }
  NearMiss none;
  none.merge({});
  CHECK(none.excess == HUGE_VAL);
}

TEST_CASE("points are counted by what became of them", "[resolve][points]") {
  PointCounts a, b;
  a.feasible = 3;
  a.skip("too wide");
  a.skip("no price", 4);
  a.skip("too wide", 2);
  b.infeasible = 2;
  b.skip("a third");
  b.skip("no price");
  a.merge(b);
  CHECK(a.total() == 3 + 2 + 3 + 5 + 1);
  CHECK(a.skipped == 9);
  std::vector<std::string> by_name, in_order;
  for (const auto& r : a.skip_reasons) by_name.push_back(r.reason);
  for (const auto& r : a.reasons_in_order()) in_order.push_back(r.reason);
  CHECK(by_name == std::vector<std::string>{"a third", "no price", "too wide"});
  CHECK(in_order == std::vector<std::string>{"too wide", "no price", "a third"});
  CHECK(a.skip_reasons[1].points == 5);
}

TEST_CASE("a resolver's front is that of all pairs, in order of candidates", "[resolve][points]") {
  struct Candidate {
    double x, y, z;
  };
  std::mt19937 random(9);
  std::vector<Candidate> all(6000);
  for (auto& c : all) {
    c = {static_cast<double>(random() % 300), static_cast<double>(random() % 300), 0};
    c.z = 600 - c.x - c.y + static_cast<double>(random() % 3);
  }
  Search search;
  const auto front = search.pareto(all, [](const Candidate& c) -> ParetoScore {
    return {{c.x, c.y, c.z}, {at_most("x", c.x, 280)}};
  });
  std::vector<const Candidate*> expected;
  for (const auto& c : all) {
    if (c.x > 280) continue;
    const bool beaten = std::any_of(all.begin(), all.end(), [&](const Candidate& o) {
      if (o.x > 280 || o.x > c.x || o.y > c.y || o.z > c.z) return false;
      return o.x < c.x || o.y < c.y || o.z < c.z || &o < &c;
    });
    if (!beaten) expected.push_back(&c);
  }
  CHECK(expected.size() > 1500);
  REQUIRE(front.points.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(front.points[i].item == expected[i]);
    CHECK(front.points[i].objectives == std::vector<double>{expected[i]->x, expected[i]->y, expected[i]->z});
  }
  CHECK(front.summary.infeasible() > 0);
}
