#include "support/catch.hpp"

#include <mlsysim/physics/protocols.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

namespace {
ProtocolRing::Inputs<double> ring(double kilobytes, double ranks, double passes) {
  return {.message = kilobytes * u::kB,
          .ranks = ranks,
          .passes = passes,
          .bandwidth = 100 * u::GB / u::s,
          .launch = 5 * u::us,
          .hop = 1 * u::us,
          .sync = 20 * u::us,
          .low_latency_share = 0.25,
          .share = 0.8,
          .copy_ratio = 2};
}
}  // namespace

TEST_CASE("a ring takes the protocol that suits the message", "[physics]") {
  // 8 ranks, all-reduce: 14 steps. 8 kB at 1.75 x 8 kB / 25 GB/s = 0.56 us.
  CHECK_THAT(ProtocolRing::solve(ring(8, 8, 2)).time.in(u::us), WithinRel(5 + 14 + 0.56, 1e-12));
  // 80 MB: 1.75 x 80 MB / 80 GB/s = 1750 us.
  CHECK_THAT(ProtocolRing::solve(ring(80000, 8, 2)).time.in(u::us), WithinRel(5 + 20 + 1750.0, 1e-12));
  // A gather has half the steps and bytes, and copies its own 10 MB at 200 GB/s.
  CHECK_THAT(ProtocolRing::solve(ring(80000, 8, 1)).time.in(u::us), WithinRel(5 + 20 + 875 + 50.0, 1e-12));
  // A rank alone has nobody to wait for.
  CHECK(ProtocolRing::solve(ring(8, 1, 2)).time.base() == 0);
}

TEST_CASE("the switch adds up in one go", "[physics]") {
  const auto time = [](double ranks, double share) {
    return SwitchAllReduce::solve({.message = 80 * u::MB,
                                   .ranks = ranks,
                                   .bandwidth = 100 * u::GB / u::s,
                                   .start = 60 * u::us,
                                   .share = share})
        .time.in(u::us);
  };
  CHECK_THAT(time(8, 0.75), WithinRel(60 + 1.125 * 800 / 0.75, 1e-12));
  // Bus bandwidth of large all-reduces on H200 with NVLS, GB/s on links of 450 GB/s: 414 on five ranks, 473
  // on eight.
  const auto bus = [](double ranks) {
    const auto r = SwitchAllReduce::solve({.message = 8.59 * u::GB,
                                           .ranks = ranks,
                                           .bandwidth = 450 * u::GB / u::s,
                                           .start = 0 * u::us,
                                           .share = 0.68});
    return 2 * (1 - 1 / ranks) * 8.59 / r.time.in(u::s);
  };
  CHECK_THAT(bus(5), WithinRel(414, 0.03));
  CHECK_THAT(bus(6), WithinRel(435.6, 0.03));
  CHECK_THAT(bus(7), WithinRel(460, 0.03));
  CHECK_THAT(bus(8), WithinRel(473.1, 0.03));
  // A switch that cannot reduce is never the fastest: a millionth of the link, 1.125 x 800 us x 1e6 behind
  // the start.
  CHECK_THAT(time(8, 0), WithinRel(60 + 1.125 * 800e6, 1e-12));
  CHECK(time(1, 1) == 0);
}

TEST_CASE("an engine's all-reduce reads everything once, or its share twice", "[physics]") {
  const auto time = [](double kilobytes, double ranks, double rows = 0) {
    return DirectAllReduce::solve({.message = kilobytes * u::kB,
                                   .ranks = ranks,
                                   .bandwidth = 100 * u::GB / u::s,
                                   .start = 4 * u::us,
                                   .hop = 0.1 * u::us,
                                   .second = 3 * u::us,
                                   .share = 0.5,
                                   .message_rows = rows,
                                   .one_shot_rows = 128})
        .time.in(u::us);
  };
  CHECK_THAT(time(10, 8), WithinRel(4 + 7 * (0.1 + 0.2), 1e-12));
  CHECK_THAT(time(1000, 8), WithinRel(4 + 3 + 14 * (0.1 + 20.0 / 8), 1e-12));
  CHECK_THAT(time(1000, 2), WithinRel(4 + 20.1, 1e-12));  // two ranks: one shot moves no more than two
  CHECK(time(1000, 1) == 0);
  CHECK_THAT(time(1000, 8, 128), WithinRel(4 + 7 * 20.1, 1e-12));  // few rows take one shot, however long
  CHECK(time(1000, 8, 129) == time(1000, 8));
}

TEST_CASE("an all-to-all goes to all peers at once", "[physics]") {
  const auto time = [](double kilobytes, double ranks = 8) {
    return ProtocolAllToAll::solve({.message = kilobytes * u::kB,
                                    .ranks = ranks,
                                    .bandwidth = 100 * u::GB / u::s,
                                    .launch = 5 * u::us,
                                    .hop = 1 * u::us,
                                    .sync = 20 * u::us,
                                    .pair_share = 0.05,
                                    .share = 0.8,
                                    .copy_ratio = 2})
        .time.in(u::us);
  };
  CHECK_THAT(time(8), WithinRel(5 + 2 + 0.2, 1e-12));  // 1 kB to each at 5 GB/s
  CHECK_THAT(time(8000), WithinRel(5 + 10 + 7000 / 80.0 + 1000 / 200.0, 1e-12));
  CHECK_THAT(time(8, 2), WithinRel(5 + 2 + 0.8, 1e-12));
  CHECK(time(8, 1) == 0);
}
