#include "sample_entries.hpp"

#include <mlsysim/tape/random.hpp>
#include <mlsysim/tape/uncertainty.hpp>
#include <mlsysim/units/error.hpp>

#include "support/catch.hpp"

#include <cmath>

using namespace mlsysim;

namespace {
const LawEntry& roofline() { return *sample::cases()[0].law; }
const std::vector<double> kComputeBound{1e15, 1e9, 1e15, 1e12};
}  // namespace

TEST_CASE("philox gives the published words", "[tools]") {
  // Known answers of Random123 for Philox4x32-10.
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
}

TEST_CASE("the normal quantile inverts the distribution function", "[tools]") {
  for (const double p : {1e-300, 1e-10, 0.001, 0.07, 0.3, 0.5, 0.7, 0.999, 1 - 1e-12}) {
    const double z = normal_quantile(p);
    CHECK(0.5 * std::erfc(-z / std::sqrt(2.0)) == Approx(p).epsilon(1e-12));
  }
  CHECK(normal_quantile(0.975) == Approx(1.959963984540054).epsilon(1e-14));
}

TEST_CASE("draws depend on seed, stream and index alone", "[tools]") {
  CHECK(uniform_draw(1, 2, 3) == uniform_draw(1, 2, 3));
  CHECK(uniform_draw(1, 2, 3) != uniform_draw(2, 2, 3));
  CHECK(uniform_draw(1, 2, 3) != uniform_draw(1, 3, 3));
  CHECK(uniform_draw(1, 2, 3) != uniform_draw(1, 2, 4));
  const UncertainInput u{.input = 0, .distribution = Distribution::normal, .spread = 1e14};
  std::vector<double> whole(100), part(40);
  draw_input(roofline(), u, 1e15, 5, 0, whole);
  draw_input(roofline(), u, 1e15, 5, 60, part);
  for (std::size_t i = 0; i < 40; ++i) CHECK(part[i] == whole[60 + i]);
}

TEST_CASE("a linear law has the spread of its input, both ways", "[tools]") {
  const UncertainInput u[] = {{.input = 0, .distribution = Distribution::normal, .spread = 5e13}};
  const auto r = propagate(roofline(), kComputeBound, u, {.samples = 40000, .seed = 3});
  CHECK(r.results[0].value == 1.0);
  CHECK(r.results[0].linear_sd == Approx(0.05).epsilon(1e-12));
  CHECK(r.results[0].sd == Approx(0.05).epsilon(0.02));
  CHECK(r.results[0].mean == Approx(1.0).epsilon(0.001));
  CHECK(r.results[0].high - r.results[0].low == Approx(2 * 1.6449 * 0.05).epsilon(0.03));
  CHECK(r.results[0].share[0] == 1.0);
  CHECK(r.redrawn == 0);
}

TEST_CASE("sampling sees the bias at a kink that first order cannot", "[tools]") {
  const std::vector<double> ridge{1e15, 1e12, 1e15, 1e12};
  const UncertainInput u[] = {{.input = 0, .distribution = Distribution::normal, .spread = 1e14},
                              {.input = 1, .distribution = Distribution::normal, .spread = 1e11}};
  const auto r = propagate(roofline(), ridge, u, {.samples = 40000});
  // E max of two independent normals: sigma / sqrt(pi).
  CHECK(r.results[0].mean - 1.0 == Approx(0.1 / std::sqrt(M_PI)).epsilon(0.03));
  CHECK(r.results[0].share[0] == Approx(0.5));
}

TEST_CASE("other distributions have their moments", "[tools]") {
  const auto sd = [](const UncertainInput& u) {
    return propagate(roofline(), kComputeBound, std::span(&u, 1), {.samples = 40000}).results[0];
  };
  const auto uniform = sd({.input = 0, .distribution = Distribution::uniform, .low = 0.8e15, .high = 1.2e15});
  CHECK(uniform.sd == Approx(0.4 / std::sqrt(12)).epsilon(0.02));
  CHECK(uniform.linear_sd == Approx(0.4 / std::sqrt(12)).epsilon(1e-12));
  const auto triangular = sd({.input = 0, .distribution = Distribution::triangular, .low = 0.7e15, .high = 1.1e15});
  CHECK(triangular.sd == Approx(triangular.linear_sd).epsilon(0.02));
  CHECK(triangular.mean == Approx((0.7 + 1.1 + 1.0) / 3).epsilon(0.002));
  const auto lognormal = sd({.input = 0, .distribution = Distribution::lognormal, .spread = 0.3});
  CHECK(lognormal.median == Approx(1.0).epsilon(0.01));
  CHECK(lognormal.mean == Approx(std::exp(0.045)).epsilon(0.01));
}

TEST_CASE("draws outside the range of the input are drawn again and counted", "[tools]") {
  const UncertainInput u[] = {{.input = 2, .distribution = Distribution::normal, .spread = 1e15}};
  const auto r = propagate(roofline(), kComputeBound, u, {.samples = 2000});
  CHECK(r.redrawn > 200);  // about 16 % of a normal lies below its mean minus one deviation
  CHECK(r.redrawn < 500);
  CHECK(r.samples == 2000);
  const UncertainInput never[] = {{.input = 2, .distribution = Distribution::uniform, .low = -2, .high = -1}};
  CHECK_THROWS_AS(propagate(roofline(), kComputeBound, never, {.samples = 10}), SolverError);
  const UncertainInput wrong[] = {{.input = 2, .distribution = Distribution::uniform, .low = 2, .high = 1}};
  CHECK_THROWS_WITH(propagate(roofline(), kComputeBound, wrong), ContainsSubstring("found the range [2, 1]"));
}
