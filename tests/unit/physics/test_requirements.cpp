#include "support/catch.hpp"

#include <mlsysim/physics/requirements.hpp>

#include <cmath>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("the smallest machine for a time", "[physics]") {
  // 1 TFLOP in 10 ms at half of the peak: 200 TFLOP/s; 10 GB in 10 ms at 4/5: 1250 GB/s; 160 FLOP a byte
  const auto r = RequiredRates::solve({.work = 1 * u::TFLOP,
                                       .traffic = 10 * u::GB,
                                       .time = 10 * u::ms,
                                       .efficiency = 0.5,
                                       .memory_share = 0.8});
  CHECK_THAT(r.required_flops.in(u::TFLOP / u::s), WithinRel(200.0, 1e-14));
  CHECK_THAT(r.required_bw.in(u::GB / u::s), WithinRel(1250.0, 1e-14));
  CHECK_THAT(r.balance.in(u::FLOP / u::B), WithinRel(160.0, 1e-14));
}

TEST_CASE("tokens that hide the gradient exchange", "[physics]") {
  // 6 * 1e9 * 1000 FLOP / (100 TFLOP/s * 0.4) = 150 ms; 2 (4/5) 1e9 * 2 B / 16 GB/s = 200 ms; equal at 1000 *
  // 200 / 150 tokens
  DataParallelRoofline::Inputs<double> in{.params = 1 * u::Gparam,
                                          .tokens = 1 * u::ktoken,
                                          .element_bytes = 2 * u::B,
                                          .devices = 5,
                                          .peak = 100 * u::TFLOP / u::s,
                                          .efficiency = 0.4,
                                          .bandwidth = 16 * u::GB / u::s};
  auto r = DataParallelRoofline::solve(in);
  CHECK_THAT(r.compute.in(u::ms), WithinRel(150.0, 1e-14));
  CHECK_THAT(r.network.in(u::ms), WithinRel(200.0, 1e-14));
  CHECK(r.time == r.network);
  CHECK_THAT(r.ridge_tokens.in(u::token), WithinRel(4000.0 / 3, 1e-14));
  in.tokens = 2 * u::ktoken;
  r = DataParallelRoofline::solve(in);
  CHECK_THAT(r.time.in(u::ms), WithinRel(300.0, 1e-14));
  in.params = 7 * u::Gparam;  // the ridge is none of the model's
  CHECK_THAT(DataParallelRoofline::solve(in).ridge_tokens.in(u::token), WithinRel(4000.0 / 3, 1e-14));
  in.devices = 1;
  CHECK(DataParallelRoofline::solve(in).network.in(u::ms) == 0);
}

TEST_CASE("privacy of many noisy steps", "[physics]") {
  // At noise 1 / sqrt(ln 2) the bracket is 2 - 1: rate * sqrt(steps)
  const auto mu = [](double rate, double steps, double noise) {
    return GaussianPrivacy::solve({.sampling_rate = rate, .steps = steps, .noise_multiplier = noise}).mu;
  };
  CHECK_THAT(mu(0.01, 10000, 1 / std::sqrt(std::log(2.0))), WithinRel(1.0, 1e-13));
  CHECK_THAT(mu(0.01, 10000, 1), WithinRel(std::sqrt(std::exp(1.0) - 1), 1e-13));
  CHECK_THAT(mu(0.02, 2500, 1), WithinRel(std::sqrt(std::exp(1.0) - 1), 1e-13));
  CHECK(mu(0, 10000, 1) == 0);
  // Much noise: rate sqrt(steps) / noise
  CHECK_THAT(mu(0.01, 10000, 100), WithinRel(0.01, 1e-4));
}
