#include "support/catch.hpp"

#include <mlsysim/physics/scaling_laws.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("the parts of a loss by hand", "[physics]") {
  // 100 / sqrt(1e6) + 200 / sqrt(1e8)
  const auto r = ChinchillaLoss::solve({.params = 1 * u::Mparam,
                                        .tokens = 100 * u::Mtoken,
                                        .irreducible = 1.69,
                                        .params_coefficient = 100,
                                        .tokens_coefficient = 200,
                                        .params_exponent = 0.5,
                                        .tokens_exponent = 0.5});
  CHECK_THAT(r.params_loss, WithinRel(0.1, 1e-13));
  CHECK_THAT(r.tokens_loss, WithinRel(0.02, 1e-13));
  CHECK_THAT(r.loss, WithinRel(1.81, 1e-13));
  // Chinchilla itself, 70e9 parameters and 1.4e12 tokens with the published coefficients: 1.69 + 0.083 +
  // 0.163
  const auto published = ChinchillaLoss::solve({.params = 70 * u::Gparam,
                                                .tokens = 1.4 * u::Ttoken,
                                                .irreducible = 1.69,
                                                .params_coefficient = 406.4,
                                                .tokens_coefficient = 410.7,
                                                .params_exponent = 0.34,
                                                .tokens_exponent = 0.28});
  CHECK_THAT(published.loss, WithinRel(1.9366, 2e-4));
}

TEST_CASE("the best of size and data for a budget", "[physics]") {
  const auto best = [](double pairs, double a, double b, double A, double B) {
    return ChinchillaAllocation::solve({.work = 6 * pairs * u::FLOP,
                                        .params_coefficient = A,
                                        .tokens_coefficient = B,
                                        .params_exponent = a,
                                        .tokens_exponent = b});
  };
  // Equal coefficients: as many tokens as parameters
  CHECK_THAT(best(1e12, 0.5, 0.5, 10, 10).params.in(u::param), WithinRel(1e6, 1e-12));
  CHECK_THAT(best(1e12, 0.5, 0.5, 10, 10).tokens.in(u::token), WithinRel(1e6, 1e-12));
  // G = 4: four times the parameters, a quarter of the tokens
  CHECK_THAT(best(1e12, 0.5, 0.5, 40, 10).params.in(u::param), WithinRel(4e6, 1e-12));
  CHECK_THAT(best(1e12, 0.5, 0.5, 40, 10).tokens.in(u::token), WithinRel(2.5e5, 1e-12));
  // a = 1/4, b = 3/4: G = (1/4 * 6) / (3/4 * 1) = 2, params 2 (1e8)^(3/4), tokens (1e8)^(1/4) / 2
  CHECK_THAT(best(1e8, 0.25, 0.75, 6, 1).params.in(u::param), WithinRel(2e6, 1e-12));
  CHECK_THAT(best(1e8, 0.25, 0.75, 6, 1).tokens.in(u::token), WithinRel(50.0, 1e-12));
  // a + b = 1/2: G = ((0.2 * 8) / (0.3 * 4))^2 = 16/9
  CHECK_THAT(best(1e10, 0.2, 0.3, 8, 4).params.in(u::param), WithinRel(16.0 / 9 * 1e6, 1e-12));
  CHECK_THAT(best(1e10, 0.2, 0.3, 8, 4).tokens.in(u::token), WithinRel(1e4 * 9 / 16, 1e-12));
}

TEST_CASE("work of training and of service", "[physics]") {
  // 6 * 1e9 * 20e9 + 2 * 1e9 * 30e9
  LifetimeWork::Inputs<double> in{
      .params = 1 * u::Gparam, .tokens = 20 * u::Gtoken, .served_tokens = 30 * u::Gtoken};
  CHECK_THAT(LifetimeWork::solve(in).work.in(u::FLOP), WithinRel(1.8e20, 1e-14));
  in.served_tokens = 0 * u::token;
  CHECK_THAT(LifetimeWork::solve(in).work.in(u::FLOP), WithinRel(1.2e20, 1e-14));
}
