#include "support/catch.hpp"

#include <mlsysim/physics/speculative.hpp>
#include <mlsysim/units/error.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

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

TEST_CASE("acceptance that falls with the position", "[physics]") {
  const auto yields = [](double rate, double decay, double drafted) {
    return DecayingAcceptance::solve(
               {.draft_acceptance_rate = rate, .draft_acceptance_decay = decay, .draft_tokens = drafted})
        .expected_tokens;
  };
  // 1 + 0.8 + 0.8 x 0.72 + 0.8 x 0.72 x 0.648 = 2.749248
  CHECK_THAT(yields(0.8, 0.9, 3), WithinRel(2.749248, 1e-14));
  CHECK(yields(0.8, 0.9, 0) == 1.0);
  CHECK(yields(0.8, 0.5, 1) == 1.8);
  for (const double drafted : {1.0, 4.0, 64.0})
    CHECK_THAT(yields(0.7, 1.0, drafted), WithinRel(expected(0.7, drafted), 1e-14));
}

TEST_CASE("tokens a verification as measured for draft heads of seven models", "[physics][measured]") {
  // Tokens a verification with 1 to 8 drafted tokens (inferencex: MTP, EAGLE3, DSpark; coding, B300). The law
  // has the first number as its own; its decay is one for all of them.
  constexpr double measured[][8] = {
      {1.84, 2.51, 3.01, 3.36, 3.61, 3.77, 3.73, 3.47}, {1.79, 2.27, 2.49, 2.54, 2.55, 2.55, 2.54, 2.58},
      {1.92, 2.61, 2.97, 3.00, 3.10, 3.16, 3.00, 3.11}, {1.84, 2.50, 2.99, 3.33, 3.61, 3.78, 3.91, 4.06},
      {1.83, 2.43, 2.88, 3.24, 3.46, 3.62, 3.71, 3.77}, {1.80, 2.33, 2.75, 3.06, 3.25, 3.43, 3.46, 3.51},
      {1.84, 2.45, 2.87, 3.22, 3.44, 3.54, 3.78, 3.88}, {1.85, 2.51, 3.00, 3.36, 3.62, 3.75, 3.84, 4.00},
      {1.78, 2.38, 2.83, 3.11, 3.35, 3.45, 3.53, 3.74}, {1.84, 2.52, 2.93, 3.41, 3.59, 3.57, 3.85, 4.06},
      {1.79, 2.39, 2.78, 3.02, 3.21, 3.30, 3.52, 3.51}, {1.83, 2.46, 2.97, 3.29, 3.72, 3.76, 3.75, 3.93},
      {1.93, 2.73, 3.39, 3.97, 4.41, 4.80, 5.04, 5.21}, {1.92, 2.70, 3.33, 3.83, 4.20, 4.48, 4.73, 4.71}};
  const auto median_error = [&](double decay) {
    std::vector<double> errors;
    for (const auto& row : measured)
      for (int k = 2; k <= 8; ++k) {
        const double told = DecayingAcceptance::solve({.draft_acceptance_rate = row[0] - 1,
                                                       .draft_acceptance_decay = decay,
                                                       .draft_tokens = double(k)})
                                .expected_tokens;
        errors.push_back(std::abs(told / row[k - 1] - 1));
      }
    std::sort(errors.begin(), errors.end());
    return errors[errors.size() / 2];
  };
  CHECK(median_error(0.94) < 0.02);
  CHECK(median_error(1.0) > 0.13);  // independent tokens
}
