#include "support/catch.hpp"

#include <mlsysim/physics/leveled_collectives.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("a ring over all devices", "[physics]") {
  // 3/4 of 8 MB at 100 GB/s: 60 us a pass. All-reduce: 5 + 2 * 10 + 2 * 60 us
  LeveledRing::Inputs<double> in{.message = 8 * u::MB,
                                 .ranks = 4,
                                 .passes = 2,
                                 .start = 5 * u::us,
                                 .round = 10 * u::us,
                                 .narrowest = 100 * u::GB / u::s};
  CHECK_THAT(LeveledRing::solve(in).time.in(u::us), WithinRel(145.0, 1e-13));
  in.passes = 1;
  CHECK_THAT(LeveledRing::solve(in).time.in(u::us), WithinRel(75.0, 1e-13));
  in.ranks = 2;  // half of the message
  CHECK_THAT(LeveledRing::solve(in).time.in(u::us), WithinRel(55.0, 1e-13));
  in.ranks = 1;
  CHECK(LeveledRing::solve(in).time.in(u::us) == 0);
}

TEST_CASE("chains inside nodes and two trees between them", "[physics]") {
  // Inside 2 * 10 MB / 400 GB/s = 50 us; four nodes send it twice: 200 us; 5 + 2 * 7 + 1.05 * 200 us
  LeveledTree::Inputs<double> in{.message = 10 * u::MB,
                                 .inner = 8,
                                 .nodes = 4,
                                 .start = 5 * u::us,
                                 .climb = 7 * u::us,
                                 .link = 400 * u::GB / u::s,
                                 .way = 100 * u::GB / u::s};
  CHECK_THAT(LeveledTree::solve(in).time.in(u::us), WithinRel(229.0, 1e-13));
  in.nodes = 3;
  CHECK_THAT(LeveledTree::solve(in).time.in(u::us), WithinRel(229.0, 1e-13));
  in.nodes = 2;  // once: 100 us
  CHECK_THAT(LeveledTree::solve(in).time.in(u::us), WithinRel(124.0, 1e-13));
  in.nodes = 1;  // the chain: 50 us
  CHECK_THAT(LeveledTree::solve(in).time.in(u::us), WithinRel(71.5, 1e-13));
  in.inner = 3;  // the one in the middle sends up and down
  CHECK_THAT(LeveledTree::solve(in).time.in(u::us), WithinRel(71.5, 1e-13));
  in.inner = 2;  // both are ends: 25 us
  CHECK_THAT(LeveledTree::solve(in).time.in(u::us), WithinRel(45.25, 1e-13));
  // Two by two, and four nodes of one: start-ups count wherever there are others. 19 + 1.05 * max(25, 100)
  // and 19 + 1.05 * 200
  in.nodes = 2;
  CHECK_THAT(LeveledTree::solve(in).time.in(u::us), WithinRel(124.0, 1e-13));
  in.inner = 1;
  in.nodes = 4;
  CHECK_THAT(LeveledTree::solve(in).time.in(u::us), WithinRel(229.0, 1e-13));
  in.nodes = 1;
  CHECK(LeveledTree::solve(in).time.in(u::us) == 0);
}

TEST_CASE("switches that add up inside of nodes", "[physics]") {
  // Inside (1 + 1/8) 10 MB / 400 GB/s = 28.125 us; between them twice 100 us; 5 + 2 * 7 + 200 us
  LeveledSwitch::Inputs<double> in{.message = 10 * u::MB,
                                   .inner = 8,
                                   .nodes = 4,
                                   .crossings = 2,
                                   .start = 5 * u::us,
                                   .climb = 7 * u::us,
                                   .link = 400 * u::GB / u::s,
                                   .way = 100 * u::GB / u::s};
  CHECK_THAT(LeveledSwitch::solve(in).time.in(u::us), WithinRel(219.0, 1e-13));
  in.crossings = 1;
  CHECK_THAT(LeveledSwitch::solve(in).time.in(u::us), WithinRel(119.0, 1e-13));
  in.nodes = 2;
  CHECK_THAT(LeveledSwitch::solve(in).time.in(u::us), WithinRel(119.0, 1e-13));
  in.nodes = 1;
  CHECK_THAT(LeveledSwitch::solve(in).time.in(u::us), WithinRel(47.125, 1e-13));
  in.inner = 2;  // 1.5 times the message
  CHECK_THAT(LeveledSwitch::solve(in).time.in(u::us), WithinRel(56.5, 1e-13));
  in.nodes = 2;  // 19 + max(37.5, 100)
  CHECK_THAT(LeveledSwitch::solve(in).time.in(u::us), WithinRel(119.0, 1e-13));
  in.inner = 1;
  in.nodes = 4;
  CHECK_THAT(LeveledSwitch::solve(in).time.in(u::us), WithinRel(119.0, 1e-13));
  in.nodes = 1;
  CHECK(LeveledSwitch::solve(in).time.in(u::us) == 0);
}

TEST_CASE("an all-to-all on an axis of a torus", "[physics]") {
  const auto time = [](double ranks, double ways) {
    return TorusAllToAll::solve(
               {.message = 8 * u::MB, .ranks = ranks, .ways = ways, .bandwidth = 50 * u::GB / u::s})
        .time.in(u::us);
  };
  // Four in a ring: distances 0, 1, 2, 1, one on average: 8 MB / (2 * 50 GB/s). Five: 0, 1, 2, 2, 1, 6/5.
  CHECK_THAT(time(4, 2), WithinRel(80.0, 1e-13));
  CHECK_THAT(time(5, 2), WithinRel(96.0, 1e-13));
  CHECK_THAT(time(4, 1), WithinRel(160.0, 1e-13));
  CHECK(time(1, 2) == 0);
}

TEST_CASE("a link of which only so many bytes may be on their way", "[physics]") {
  // 4 MB in 2 x 100 us: 20 GB/s of a link of 50; in 2 x 10 us 200 GB/s, which it has not.
  FlightLimitedRate::Inputs<double> in{
      .bandwidth = 50 * u::GB / u::s, .in_flight = 4 * u::MB, .latency = 100 * u::us};
  CHECK_THAT(FlightLimitedRate::solve(in).rate.in(u::GB / u::s), WithinRel(20.0, 1e-13));
  in.latency = 10 * u::us;
  CHECK_THAT(FlightLimitedRate::solve(in).rate.in(u::GB / u::s), WithinRel(50.0, 1e-13));
  in.latency = Time<>();
  CHECK_THAT(FlightLimitedRate::solve(in).rate.in(u::GB / u::s), WithinRel(50.0, 1e-13));
  in.latency = 1 * u::s, in.in_flight = Data<>();  // not known: it does not bind
  CHECK_THAT(FlightLimitedRate::solve(in).rate.in(u::GB / u::s), WithinRel(50.0, 1e-13));
}
