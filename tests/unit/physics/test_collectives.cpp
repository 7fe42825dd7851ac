#include "support/catch.hpp"

#include <mlsysim/physics/collectives.hpp>

#include <algorithm>

using namespace mlsysim;
namespace u = mlsysim::unit;

namespace {
detail::CollectiveInputs<double> on(double gigabytes, double ranks, double gigabytes_per_s, double alpha_us) {
  return {.message = gigabytes * u::GB,
          .ranks = ranks,
          .bandwidth = gigabytes_per_s * u::GB / u::s,
          .alpha = alpha_us * u::us};
}
}  // namespace

TEST_CASE("a message between two ranks", "[physics]") {
  const auto r =
      PointToPoint::solve({.message = 100 * u::MB, .bandwidth = 50 * u::GB / u::s, .alpha = 5 * u::us});
  CHECK_THAT(r.time.in(u::us), WithinRel(2005.0, 1e-14));
}

TEST_CASE("ring all-reduce inside a node", "[physics]") {
  // 2 * 7/8 * 1 GB / 450 GB/s = 3.88889 ms, plus 14 * 0.5 us = 7 us
  const auto r = RingAllReduce::solve(on(1, 8, 450, 0.5));
  CHECK_THAT(r.time.in(u::ms), WithinRel(3.89589, 2e-6));
  CHECK_THAT(r.startup.in(u::us), WithinRel(7.0, 1e-14));
}

TEST_CASE("three all-reduce algorithms on 64 ranks", "[physics]") {
  const auto in = on(1, 64, 50, 5);
  // ring: 2 * 63/64 * 20 ms + 126 * 5 us = 39.375 + 0.63
  CHECK_THAT(RingAllReduce::solve(in).time.in(u::ms), WithinRel(40.0050, 1e-9));
  // tree: 2 * 6 levels * (20 ms + 5 us)
  CHECK_THAT(TreeAllReduce::solve(in).time.in(u::ms), WithinRel(240.060, 1e-9));
  // two trees: 1.05 * 39.375 ms + 1.2 * 2 * 6 * 5 us = 41.34375 + 0.072
  const auto two = DoubleBinaryTreeAllReduce::solve(
      {.message = in.message, .ranks = 64, .bandwidth = in.bandwidth, .alpha = in.alpha});
  CHECK_THAT(two.time.in(u::ms), WithinRel(41.41575, 1e-9));
}

TEST_CASE("trees win for small messages, rings for large ones", "[physics]") {
  CHECK(TreeAllReduce::solve(on(1e-6, 64, 50, 5)).time < RingAllReduce::solve(on(1e-6, 64, 50, 5)).time);
  CHECK(TreeAllReduce::solve(on(1, 64, 50, 5)).time > RingAllReduce::solve(on(1, 64, 50, 5)).time);
}

TEST_CASE("a tree's depth is a whole number of levels", "[physics]") {
  CHECK(TreeAllReduce::solve(on(0, 65, 50, 5)).time.in(u::us) == Approx(2 * 7 * 5.0).epsilon(1e-14));
  CHECK(TreeAllReduce::solve(on(0, 33, 50, 5)).time.in(u::us) == Approx(2 * 6 * 5.0).epsilon(1e-14));
  CHECK(TreeAllReduce::solve(on(0, 2, 50, 5)).time.in(u::us) == Approx(2 * 1 * 5.0).epsilon(1e-14));
}

TEST_CASE("all-to-all over eight ranks", "[physics]") {
  // 7/8 * 100 MB / 12.5 GB/s = 7 ms, plus 7 * 50 us
  CHECK_THAT(AllToAll::solve(on(0.1, 8, 12.5, 50)).time.in(u::ms), WithinRel(7.35, 1e-12));
}

TEST_CASE("an all-reduce is a reduce-scatter and an all-gather", "[physics]") {
  const auto in = on(0.7, 12, 37, 3);
  const auto parts = RingReduceScatter::solve(in).time + RingAllGather::solve(in).time;
  CHECK_THAT(RingAllReduce::solve(in).time.base(), WithinRel(parts.base(), 1e-14));
}

TEST_CASE("hierarchical all-reduce of 16.06 GB over 32 nodes of 8", "[physics]") {
  HierarchicalAllReduce::Inputs<double> in{.message = 16.06 * u::GB,
                                           .ranks_per_node = 8,
                                           .nodes = 32,
                                           .bandwidth_intra = 450 * u::GB / u::s,
                                           .bandwidth_inter = 50 * u::GB / u::s,
                                           .alpha_intra = 0.5 * u::us,
                                           .alpha_inter = 5 * u::us};
  const auto r = HierarchicalAllReduce::solve(in);
  // inside: 2 * (7/8 * 16.06 / 450 s + 7 * 0.5 us) = 62.4626 ms; between: 2 * 31/32 * 2.0075 / 50 s + 62 * 5
  // us = 78.1006 ms
  CHECK_THAT(r.intra.in(u::ms), WithinRel(62.462556, 1e-6));
  CHECK_THAT(r.inter.in(u::ms), WithinRel(78.100625, 1e-6));
  CHECK_THAT(r.time.in(u::ms), WithinRel(140.563, 2e-6));
  // One node: the plain ring inside it. One device per node: the plain ring between nodes.
  in.nodes = 1;
  CHECK_THAT(HierarchicalAllReduce::solve(in).time.base(),
             WithinRel(RingAllReduce::solve(on(16.06, 8, 450, 0.5)).time.base(), 1e-14));
  in.nodes = 32;
  in.ranks_per_node = 1;
  CHECK_THAT(HierarchicalAllReduce::solve(in).time.base(),
             WithinRel(RingAllReduce::solve(on(16.06, 32, 50, 5)).time.base(), 1e-14));
}

TEST_CASE("one rank has nothing to communicate", "[physics]") {
  const auto in = on(3.3, 1, 17, 9);
  CHECK(RingAllReduce::solve(in).time.base() == 0.0);
  CHECK(RingAllGather::solve(in).time.base() == 0.0);
  CHECK(RingReduceScatter::solve(in).time.base() == 0.0);
  CHECK(TreeAllReduce::solve(in).time.base() == 0.0);
  CHECK(AllToAll::solve(in).time.base() == 0.0);
  CHECK(DoubleBinaryTreeAllReduce::solve(
            {.message = in.message, .ranks = 1, .bandwidth = in.bandwidth, .alpha = in.alpha})
            .time.base() == 0.0);
  CHECK(HierarchicalAllReduce::solve({.message = in.message,
                                      .ranks_per_node = 1,
                                      .nodes = 1,
                                      .bandwidth_intra = in.bandwidth,
                                      .bandwidth_inter = in.bandwidth,
                                      .alpha_intra = in.alpha,
                                      .alpha_inter = in.alpha})
            .time.base() == 0.0);
}

TEST_CASE("bus bandwidth gives the link rate back", "[physics]") {
  // Without start-up the ring keeps every link busy, whatever the number of ranks.
  for (const double ranks : {2.0, 8.0, 100.0}) {
    const auto in = on(1, ranks, 450, 0);
    const auto reduce = BusBandwidth::solve(
        {.message = in.message, .ranks = ranks, .passes = 2, .time = RingAllReduce::solve(in).time});
    CHECK_THAT(reduce.bus.in(u::GB / u::s), WithinRel(450.0, 1e-13));
    const auto gather = BusBandwidth::solve(
        {.message = in.message, .ranks = ranks, .passes = 1, .time = RingAllGather::solve(in).time});
    CHECK_THAT(gather.bus.in(u::GB / u::s), WithinRel(450.0, 1e-13));
    CHECK_THAT(gather.algorithm.in(u::GB / u::s), WithinRel(450.0 * ranks / (ranks - 1), 1e-13));
  }
}
