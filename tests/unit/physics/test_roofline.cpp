#include "support/catch.hpp"

#include <mlsysim/physics/roofline.hpp>

#include <cmath>

using namespace mlsysim;
namespace u = mlsysim::unit;

namespace {
const auto kPeak = 989.0 * u::TFLOP / u::s;
const auto kBandwidth = 3.35 * u::TB / u::s;
}  // namespace

TEST_CASE("roofline of one decode step of an 8B model", "[physics]") {
  // 8.03e9 parameters: 2 FLOP each = 16.06 GFLOP, 2 B each = 16.06 GB.
  // compute = 16.06e9 / 989e12 = 16.2386 us; memory = 16.06e9 / 3.35e12 = 4.79403 ms: memory-bound.
  const auto r = Roofline::solve(
      {.work = 16.06 * u::GFLOP, .traffic = 16.06 * u::GB, .peak = kPeak, .bandwidth = kBandwidth});
  CHECK_THAT(r.compute.in(u::us), WithinRel(16.2386, 1e-5));
  CHECK_THAT(r.memory.in(u::ms), WithinRel(4.79403, 1e-6));
  CHECK_THAT(r.time.in(u::ms), WithinRel(4.79403, 1e-6));
}

TEST_CASE("with unlimited bandwidth the time is work over rate", "[physics]") {
  const auto r = Roofline::solve(
      {.work = 2.0 * u::PFLOP, .traffic = 1.0 * u::TB, .peak = kPeak, .bandwidth = 1e30 * u::TB / u::s});
  CHECK_THAT(r.time.in(u::s), WithinRel(2000.0 / 989.0, 1e-14));
}

TEST_CASE("at the ridge both sides take equally long", "[physics]") {
  // 989e12 / 3.35e12 = 295.224 FLOP/B
  const auto ridge = RidgePoint::solve({.peak = kPeak, .bandwidth = kBandwidth}).intensity;
  CHECK_THAT(ridge.in(u::FLOP / u::B), WithinRel(295.223881, 1e-8));
  const auto traffic = 5.0 * u::GB;
  const auto r =
      Roofline::solve({.work = ridge * traffic, .traffic = traffic, .peak = kPeak, .bandwidth = kBandwidth});
  CHECK_THAT(r.compute.base(), WithinRel(r.memory.base(), 1e-14));
}

TEST_CASE("attainable rate is the slope below the ridge and flat above", "[physics]") {
  const auto rate = [](double intensity) {
    return AttainableRate::solve(
               {.peak = kPeak, .bandwidth = kBandwidth, .intensity = intensity * u::FLOP / u::B})
        .rate.in(u::TFLOP / u::s);
  };
  CHECK_THAT(rate(2.0), WithinRel(6.7, 1e-14));  // 2 FLOP/B x 3.35 TB/s
  CHECK_THAT(rate(1000.0), WithinRel(989.0, 1e-14));
}

TEST_CASE("soft roofline rounds the corner and keeps the roofs", "[physics]") {
  const auto soft = [](double compute_s, double memory_s) {
    return SoftRoofline::solve({.work = compute_s * kPeak * (1.0 * u::s),
                                .traffic = memory_s * kBandwidth * (1.0 * u::s),
                                .peak = kPeak,
                                .bandwidth = kBandwidth})
        .time.in(u::s);
  };
  CHECK_THAT(soft(1e-3, 1e-3), WithinRel(1e-3 * std::pow(2.0, 0.25), 1e-13));
  CHECK_THAT(soft(3e-3, 1e-3), WithinRel(1e-3 * std::pow(82.0, 0.25), 1e-13));  // 3^4 + 1^4
  CHECK_THAT(soft(1e-3, 3e-3), WithinRel(1e-3 * std::pow(82.0, 0.25), 1e-13));
  CHECK(soft(2.3, 1.0) < 2.3 * 1.01);  // the documented distance at which it is 1 %
  CHECK(soft(2.1, 1.0) > 2.1 * 1.01);
  CHECK_THAT(soft(7.0, 0.0), WithinRel(7.0, 1e-15));
  CHECK(soft(0.0, 0.0) == 0.0);
  CHECK_THAT(soft(1e-75, 1e-75),
             WithinRel(1e-75 * std::pow(2.0, 0.25), 1e-13));  // the ends of the stated range
  CHECK_THAT(soft(1e75, 1e75), WithinRel(1e75 * std::pow(2.0, 0.25), 1e-13));
}
