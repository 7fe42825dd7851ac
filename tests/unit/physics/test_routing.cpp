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
