#include "support/catch.hpp"

#include <mlsysim/physics/power_cap.hpp>

#include <algorithm>
#include <cmath>

using namespace mlsysim;
namespace u = mlsysim::unit;

namespace {

/// A pass of an H100: 700 W, of which 210 idle.
CappedClock::Inputs<double> h100(double cap, double clocked, double fixed, double work, double traffic) {
  return {.clocked = clocked * u::ms,
          .fixed = fixed * u::ms,
          .work_load = work * u::ms,
          .traffic_load = traffic * u::ms,
          .tdp = 700 * u::W,
          .power_cap = cap * u::W};
}

/// Mean power of the pass [W].
double drawn(const CappedClock::Result<double>& r) { return 210 + 490 * (r.load / r.slowed); }

}  // namespace

TEST_CASE("a compute-bound pass under a cap: by hand", "[physics]") {
  // Products draw twice the full power at this rate, so the regulator already holds it at 700 W. At 500 W
  // (500 - 210) / (700 - 210) = 0.5918 of the dynamic power is left. Power goes with the cube of the clock:
  // 0.5918^(1/3) = 0.8396, so 100 ms become 119.1, as the zoo has it of the H100 modules that are sold for
  // 500 W.
  const auto r = CappedClock::solve(h100(500, 100, 0, 200, 0));
  CHECK_THAT(r.clock, WithinRel(std::cbrt(290.0 / 490), 1e-12));
  CHECK_THAT(r.slowed.in(u::ms), WithinRel(100 / std::cbrt(290.0 / 490), 1e-12));
  CHECK_THAT(drawn(r), WithinRel(500.0, 1e-12));
  // An operation costs the square of the clock: the pass draws 0.7049 of its dynamic energy.
  CHECK_THAT(r.load.in(u::ms), WithinRel(100 * std::pow(290.0 / 490, 2.0 / 3), 1e-12));
}

TEST_CASE("a cap at the full power changes nothing", "[physics]") {
  for (const double traffic : {0.0, 30.0, 90.0}) {
    const auto r = CappedClock::solve(h100(700, 40, 60, 50, traffic));
    CHECK_THAT(r.clock, WithinRel(1.0, 1e-14));
    CHECK_THAT(r.slowed.in(u::ms), WithinRel(100.0, 1e-14));
    CHECK_THAT(r.load.in(u::ms), WithinRel(std::min(100.0, 50 + traffic), 1e-14));
  }
}

TEST_CASE("traffic is not slowed by the clock, and memory draws the same for a byte", "[physics]") {
  // 65 ms of full power for 100 ms of memory: 528.5 W, of which 0.3 x 60 = 18 ms in memory itself. Under 400
  // W the budget is 0.3878: 47 f^2 + 18 = 38.78 gives f = 0.6649, in the same time.
  const auto r = CappedClock::solve(h100(400, 0, 100, 5, 60));
  CHECK_THAT(r.clock, WithinRel(std::sqrt((100 * 190.0 / 490 - 18) / 47), 1e-10));
  CHECK_THAT(r.slowed.in(u::ms), WithinRel(100.0, 1e-10));
  CHECK_THAT(drawn(r), WithinRel(400.0, 1e-10));
}

TEST_CASE("below the knee everything waits until the mean is the cap", "[physics]") {
  // At 300 W 90 / 490 of the dynamic power is left; at the knee an operation still costs 0.36: 36 ms of full
  // power take 36 x 490 / 90 = 196 ms.
  const auto r = CappedClock::solve(h100(300, 100, 0, 200, 0));
  CHECK_THAT(r.clock, WithinRel(0.6, 1e-14));
  CHECK_THAT(r.slowed.in(u::ms), WithinRel(196.0, 1e-12));
  // A clock of 0.3 takes 333 ms and as much energy as one of 0.6.
  auto slow = h100(700, 100, 0, 200, 0);
  slow.clock_limit = 0.3;
  const auto s = CappedClock::solve(slow);
  CHECK_THAT(s.slowed.in(u::ms), WithinRel(100 / 0.3, 1e-12));
  CHECK_THAT(s.load.in(u::ms), WithinRel(36.0, 1e-12));
}

TEST_CASE("the mean power never exceeds the cap, and the clock is the highest that holds it", "[physics]") {
  for (const double cap : {230.0, 300.0, 410.0, 520.0, 640.0})
    for (const double clocked : {0.0, 20.0, 70.0, 100.0})
      for (const double work : {0.0, 25.0, 80.0, 300.0})
        for (const double traffic : {0.0, 40.0, 95.0}) {
          const auto in = h100(cap, clocked, 100 - clocked, work, traffic);
          const auto r = CappedClock::solve(in);
          CHECK(drawn(r) <= cap * (1 + 1e-9));
          CHECK(r.slowed.in(u::ms) >= 100 * (1 - 1e-12));
          // Either nothing is slower, or the cap is reached.
          if (r.clock < 1 - 1e-9) CHECK_THAT(drawn(r), WithinRel(cap, 1e-9));
        }
}

TEST_CASE("the slope of time by the cap is exact", "[physics]") {
  // Compute-bound, slowed = 100 / ((cap - 210) / 490)^(1/3): its logarithm falls by a third of that of the
  // dynamic budget.
  const double step = 1e-3;
  const auto at = [](double cap) { return CappedClock::solve(h100(cap, 100, 0, 200, 0)).slowed.in(u::ms); };
  const double slope = (at(500 + step) - at(500 - step)) / (2 * step);
  CHECK_THAT(slope, WithinRel(-at(500) / (3 * 290), 1e-6));
}
