#include "support/catch.hpp"

#include <mlsysim/physics/routing.hpp>

#include <cmath>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("experts that a batch touches, and the fullest of them", "[physics]") {
  const auto load = [](double experts, double top_k, double tokens) {
    return ExpertLoad::solve({.experts = experts, .top_k = top_k, .tokens = tokens});
  };
  // One token touches two of eight; of two tokens the second misses each expert with 3/4: 8 (1 - 9/16)
  CHECK_THAT(load(8, 2, 1).touched, WithinRel(2.0, 1e-14));
  CHECK_THAT(load(8, 2, 2).touched, WithinRel(3.5, 1e-14));
  CHECK_THAT(load(8, 2, 1e4).touched, WithinRel(8.0, 1e-14));
  // 64 tokens: 16 on an expert, 1 + sqrt(2 ln 8 / 16)
  CHECK_THAT(load(8, 2, 64).imbalance, WithinRel(1 + std::sqrt(2 * std::log(8.0) / 16), 1e-14));
  // A single token cannot put more than itself on one expert: 4 times the mean of 1/4.
  CHECK_THAT(load(8, 2, 1).imbalance, WithinRel(4.0, 1e-14));
  // Where every token visits all, nothing is uneven; more than all is all.
  CHECK(load(8, 8, 5).touched == 8);
  CHECK(load(8, 8, 5).imbalance == 1);
  CHECK(load(8, 9, 5).touched == 8);
  CHECK(load(1, 1, 5).imbalance == 1);
}

namespace {
double visited(double experts, double top_k, double groups, double limited, double parts) {
  return DistinctParts::solve({.experts = experts,
                               .top_k = top_k,
                               .groups = groups,
                               .limited_groups = limited,
                               .parts = parts})
      .visited;
}
}  // namespace

TEST_CASE("ranks and nodes that a token visits", "[physics]") {
  // Two of four experts on two nodes: the second is on the first's node in 1 of 3 cases: 1/3 + 2 2/3.
  CHECK_THAT(visited(4, 2, 1, 1, 2), WithinRel(5.0 / 3, 1e-14));
  // An expert on each part: as many as there are experts; one part is always visited; all experts are all
  // parts.
  CHECK_THAT(visited(8, 3, 1, 1, 8), WithinRel(3.0, 1e-14));
  CHECK_THAT(visited(8, 3, 1, 1, 1), WithinRel(1.0, 1e-14));
  CHECK_THAT(visited(8, 8, 1, 1, 4), WithinRel(4.0, 1e-14));
  // All groups is no limit.
  CHECK_THAT(visited(64, 6, 8, 8, 4), WithinRel(visited(64, 6, 1, 1, 4), 1e-13));
  // Two of four groups of two experts, on four nodes, and all four experts of the two groups: two nodes.
  CHECK_THAT(visited(8, 4, 4, 2, 4), WithinRel(2.0, 1e-14));
  // On two nodes of two groups each: of 6 pairs of groups 2 lie on one node: (2 x 1 + 4 x 2) / 6.
  CHECK_THAT(visited(8, 4, 4, 2, 2), WithinRel(10.0 / 6, 1e-14));
  // One of four groups, two of which are on each of two nodes: one node.
  CHECK_THAT(visited(8, 2, 4, 1, 2), WithinRel(1.0, 1e-14));
  // Each node half a group: a group of two experts is always whole, so four of eight nodes.
  CHECK_THAT(visited(8, 4, 4, 2, 8), WithinRel(4.0, 1e-14));
  // DeepSeek-V3, 8 of 256 experts in 4 of 8 groups: on eight nodes of a group each it goes to at most four,
  // and misses one of its groups with C(96, 8) / C(128, 8) = 0.092747.
  CHECK_THAT(visited(256, 8, 8, 4, 8), WithinRel(4 * (1 - 0.092747), 1e-6));
  // Without the limit 8 (1 - C(224, 8) / C(256, 8)).
  CHECK_THAT(visited(256, 8, 1, 1, 8), WithinRel(8 * (1 - 0.338168), 1e-6));
}

TEST_CASE("experts that a batch touches where some are popular", "[physics]") {
  const auto share = [](double experts, double top_k, double tokens, double spread) {
    return TouchedExperts::solve({.experts = experts, .top_k = top_k, .tokens = tokens, .spread = spread})
        .share;
  };
  // Even routing is that of ExpertLoad.
  for (const double tokens : {1.0, 16.0, 4096.0})
    CHECK_THAT(
        share(256, 8, tokens, 0),
        WithinRel(ExpertLoad::solve({.experts = 256, .top_k = 8, .tokens = tokens}).touched / 256, 1e-12));
  // The integral over the normal density, on a fine grid.
  const auto exact = [](double chance, double tokens, double spread) {
    double sum = 0, weights = 0, mean = 0;
    for (int i = -4000; i <= 4000; ++i) {
      const double z = i * 0.002, w = std::exp(-z * z / 2);
      weights += w;
      mean += w * std::exp(spread * z);
    }
    mean /= weights;
    for (int i = -4000; i <= 4000; ++i) {
      const double z = i * 0.002, w = std::exp(-z * z / 2) / weights;
      sum += w * (1 - std::pow(1 - chance, std::exp(spread * z) / mean * tokens));
    }
    return sum;
  };
  for (const double spread : {0.5, 1.0, 1.5})
    for (const double tokens : {4.0, 16.0, 64.0, 256.0})
      CHECK_THAT(share(256, 8, tokens, spread), WithinRel(exact(8.0 / 256, tokens, spread), 0.02));
  CHECK(share(256, 8, 64, 1) < share(256, 8, 64, 0.5));
  // One token touches its own, and all where it visits all.
  CHECK_THAT(share(256, 8, 1, 1), WithinRel(8.0 / 256, 1e-12));
  CHECK(share(8, 8, 1, 1) == 1);
}

TEST_CASE("the fullest of the ranks of experts", "[physics]") {
  const auto fullest = [](double experts, double top_k, double tokens, double ranks) {
    return FullestRank::solve({.experts = experts, .top_k = top_k, .tokens = tokens, .ranks = ranks})
        .imbalance;
  };
  // Exact means of the largest of n normal variables are 0.5642, 1.0294, 1.4236, 2.0697 for 2, 4, 8, 32
  // (tables of order statistics); Blom's formula is right to 5 % at 2 and 1 % above.
  const auto largest = [&](double ranks) { return (fullest(1e9, 1, 1e6 * ranks, ranks) - 1) * 1e3; };
  CHECK_THAT(largest(2), WithinRel(0.5642, 0.05));
  CHECK_THAT(largest(4), WithinRel(1.0294, 0.02));
  CHECK_THAT(largest(8), WithinRel(1.4236, 0.01));
  CHECK_THAT(largest(32), WithinRel(2.0697, 0.01));
  // Far out the quantile of (n - 3/8) / (n + 1/4) itself, 4.847543 for a million, is right to 0.00045.
  CHECK_THAT(largest(1e6), WithinAbs(4.847543, 0.00045));
  // Two experts of which a token takes one: no draw says anything of another.
  CHECK_THAT(fullest(2, 1, 1000, 2), WithinRel(fullest(1e9, 1, 1000, 2), 1e-6));
  // Draws without replacement vary less: 8 of 16 experts have 8/15 of the variance.
  CHECK_THAT((fullest(16, 8, 1000, 4) - 1) / (fullest(1e9, 8, 1000, 4) - 1),
             WithinRel(std::sqrt(8.0 / 15), 1e-6));
  CHECK(fullest(16, 16, 10, 4) == 1);
  CHECK(fullest(256, 8, 100, 1) == 1);
  // A row alone is on one rank.
  CHECK(fullest(256, 1, 1, 2) <= 2);
  CHECK(fullest(4096, 1, 1, 64) <= 64);
}
