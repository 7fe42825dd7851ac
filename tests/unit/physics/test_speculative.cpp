#include "support/catch.hpp"

#include <mlsysim/physics/speculative.hpp>
#include <mlsysim/units/error.hpp>

#include <cmath>

using namespace mlsysim;
namespace u = mlsysim::unit;

namespace {
double expected(double rate, double drafted) {
  return ExpectedAcceptedTokens::solve({.draft_acceptance_rate = rate, .draft_tokens = drafted})
      .expected_tokens;
}
}  // namespace

TEST_CASE("tokens per verification", "[physics]") {
  // 1 + 0.7 + 0.49 + 0.343 + 0.2401 = 2.7731
  CHECK_THAT(expected(0.7, 4), WithinRel(2.7731, 1e-14));
  CHECK(expected(0.0, 4) == 1.0);
  CHECK(expected(1.0, 4) == 5.0);
  CHECK(expected(0.7, 0) == 1.0);
}

TEST_CASE("the sum agrees with its closed form and is smooth at certain acceptance", "[physics]") {
  for (const double rate : {0.1, 0.5, 0.9})
    for (const double drafted : {1.0, 3.0, 8.0, 64.0})
      CHECK_THAT(expected(rate, drafted),
                 WithinRel((1.0 - std::pow(rate, drafted + 1)) / (1.0 - rate), 1e-13));
  // Slope at 1 is K (K + 1) / 2: 10 for K = 4.
  CHECK_THAT(expected(1.0 - 1e-9, 4), WithinRel(5.0 - 10e-9, 1e-15));
}

TEST_CASE("an absurd number of drafted tokens is refused", "[physics]") {
  CHECK_THROWS_AS(expected(0.5, 1e6), DomainError);
}

TEST_CASE("time per token with a small draft model", "[physics]") {
  // Verification 5.19416 ms, draft 0.0965664 ms, 4 drafted, rate 0.7: (4 * 0.0965664 + 5.19416) / 2.7731
  // = 2.01234 ms.
  const auto r = SpeculativeTokenTime::solve({.draft_time = 0.0965664 * u::ms,
                                              .verify_time = 5.19416 * u::ms,
                                              .draft_acceptance_rate = 0.7,
                                              .draft_tokens = 4});
  CHECK_THAT(r.itl.in(u::ms), WithinRel(2.01234, 3e-6));
}

TEST_CASE("a draft that is never kept only costs", "[physics]") {
  const auto r = SpeculativeTokenTime::solve(
      {.draft_time = 1 * u::ms, .verify_time = 5 * u::ms, .draft_acceptance_rate = 0, .draft_tokens = 3});
  CHECK_THAT(r.itl.in(u::ms), WithinRel(8.0, 1e-14));
}
