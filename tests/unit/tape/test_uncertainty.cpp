#include "sample_entries.hpp"

#include <mlsysim/tape/random.hpp>
#include <mlsysim/tape/uncertainty.hpp>
#include <mlsysim/units/error.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>

using namespace mlsysim;

namespace {
const LawEntry& roofline() { return *sample::cases()[0].law; }
const std::vector<double> kComputeBound{1e15, 1e9, 1e15, 1e12};
}  // namespace

TEST_CASE("philox gives the published words", "[tape]") {
  // Known answers of Random123 for Philox4x32-10.
  CHECK(philox({0, 0, 0, 0}, {0, 0}) ==
        std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
}

TEST_CASE("the normal quantile inverts the distribution function", "[tape]") {
  for (const double p : {1e-300, 1e-10, 0.001, 0.07, 0.3, 0.5, 0.7, 0.999, 1 - 1e-12}) {
    const double z = normal_quantile(p);
    CHECK(0.5 * std::erfc(-z / std::sqrt(2.0)) == Approx(p).epsilon(1e-12));
  }
  CHECK(normal_quantile(0.975) == Approx(1.959963984540054).epsilon(1e-14));
}

TEST_CASE("draws depend on seed, stream and index alone", "[tape]") {
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

namespace {

/// What `draw_input` gives for one input of the compute-bound point.
struct Drawn {
  double mean = 0, sd = 0, low = 0, high = 0;
  std::size_t redrawn = 0;
};
Drawn drawn(const UncertainInput& u, std::size_t n = 40000) {
  std::vector<double> x(n);
  Drawn d;
  d.redrawn = draw_input(roofline(), u, kComputeBound[u.input], 3, 0, x);
  for (const double v : x) d.mean += v / static_cast<double>(n);
  for (const double v : x) d.sd += (v - d.mean) * (v - d.mean) / static_cast<double>(n - 1);
  d.sd = std::sqrt(d.sd);
  d.low = *std::min_element(x.begin(), x.end());
  d.high = *std::max_element(x.begin(), x.end());
  return d;
}
double quantile(const UncertainInput& u, double p) {
  return input_quantile(roofline(), u, kComputeBound[u.input], p);
}

}  // namespace

TEST_CASE("draws have the moments of their distribution", "[tape]") {
  const auto normal = drawn({.input = 0, .distribution = Distribution::normal, .spread = 5e13});
  CHECK(normal.mean == Approx(1e15).epsilon(0.001));
  CHECK(normal.sd == Approx(5e13).epsilon(0.02));
  CHECK(normal.redrawn == 0);
  const auto uniform =
      drawn({.input = 0, .distribution = Distribution::uniform, .low = 0.8e15, .high = 1.2e15});
  CHECK(uniform.sd == Approx(0.4e15 / std::sqrt(12)).epsilon(0.02));
  CHECK(uniform.low >= 0.8e15);
  CHECK(uniform.high <= 1.2e15);
  const auto triangular =
      drawn({.input = 0, .distribution = Distribution::triangular, .low = 0.7e15, .high = 1.1e15});
  CHECK(triangular.mean == Approx((0.7e15 + 1.1e15 + 1.0e15) / 3).epsilon(0.002));
  const auto lognormal = drawn({.input = 0, .distribution = Distribution::lognormal, .spread = 0.3});
  CHECK(lognormal.mean == Approx(1e15 * std::exp(0.045)).epsilon(0.01));
}

TEST_CASE("quantiles are those of the distribution, cut to the range of the input", "[tape]") {
  const UncertainInput normal{.input = 0, .distribution = Distribution::normal, .spread = 5e13};
  CHECK(quantile(normal, 0.5) == Approx(1e15).epsilon(1e-12));
  CHECK(quantile(normal, 0.975) == Approx(1e15 + 1.959963984540054 * 5e13).epsilon(1e-12));
  const UncertainInput uniform{
      .input = 0, .distribution = Distribution::uniform, .low = 0.8e15, .high = 1.2e15};
  CHECK(quantile(uniform, 0.25) == Approx(0.9e15).epsilon(1e-12));
  const UncertainInput lognormal{.input = 0, .distribution = Distribution::lognormal, .spread = 0.3};
  CHECK(quantile(lognormal, 0.5) == Approx(1e15).epsilon(1e-12));
  // Half of this normal lies outside the range, which begins, as good as, at its mean.
  const UncertainInput cut{.input = 2, .distribution = Distribution::normal, .spread = 1e30};
  CHECK(quantile(cut, 0.5) == Approx(1e30 * normal_quantile(0.75)).epsilon(1e-6));
}

TEST_CASE("draws outside the range of the input are drawn again and counted", "[tape]") {
  const auto wide = drawn({.input = 2, .distribution = Distribution::normal, .spread = 1e15}, 2000);
  CHECK(wide.redrawn > 200);  // about 16 % of a normal lies below its mean minus one deviation
  CHECK(wide.redrawn < 500);
  CHECK(wide.low > 0);
  CHECK_THROWS_AS(quantile({.input = 2, .distribution = Distribution::uniform, .low = -2, .high = -1}, 0.5),
                  SolverError);
  CHECK_THROWS_AS(drawn({.input = 2, .distribution = Distribution::uniform, .low = -2, .high = -1}, 10),
                  SolverError);
  CHECK_THROWS_WITH(quantile({.input = 2, .distribution = Distribution::uniform, .low = 2, .high = 1}, 0.5),
                    ContainsSubstring("found the range [2, 1]"));
}
