#include "support/catch.hpp"

#include <mlsysim/physics/resilience.hpp>
#include <mlsysim/tape/bound.hpp>
#include <mlsysim/tape/register.hpp>

#include <cmath>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("a node fails as often as its parts together", "[physics]") {
  // 8 / 40 000 h + 4 / 100 000 h + 2 / 200 000 h = 25 / 100 000 h
  NodeMtbf::Inputs<double> in{.accelerators = 8,
                              .accelerator_mtbf = 40000 * u::h,
                              .nics = 4,
                              .nic_mtbf = 100000 * u::h,
                              .psus = 2,
                              .psu_mtbf = 200000 * u::h,
                              .other_rate = 0 * u::Hz};
  CHECK_THAT(NodeMtbf::solve(in).mtbf.in(u::h), WithinRel(4000.0, 1e-13));
  in.other_rate = 1 / (4000 * u::h);  // as much again
  CHECK_THAT(NodeMtbf::solve(in).mtbf.in(u::h), WithinRel(2000.0, 1e-13));
}

TEST_CASE("Daly's interval to higher order", "[physics]") {
  const auto interval = [](double write, double mtbf) {
    return DalyInterval::solve({.checkpoint_time = write * u::h, .mtbf = mtbf * u::h}).interval.in(u::h);
  };
  // 18 h of 2 * 100 h: r = 0.3, 200 * 0.3 (1 - 0.3 (2/3 - 0.3/9)) = 60 * 0.81 h
  CHECK_THAT(interval(18, 100), WithinRel(48.6, 1e-13));
  CHECK_THAT(interval(200, 100), WithinRel(100.0, 1e-14));
  CHECK_THAT(interval(500, 100), WithinRel(100.0, 1e-14));
  CHECK(interval(0, 100) == 0);
  // Short writes: Young's sqrt(2 write mtbf), less one write and 2/3 of r
  CHECK_THAT(interval(2e-8, 1), WithinRel(2e-4 * (1 - 1e-4 * 2 / 3), 1e-8));
}

TEST_CASE(
    "the range of Daly's interval does not grow with writes that are longer than what lies between failures",
    "[physics]") {
  // Both branches are open on it, and 2 mtbf r (1 - r (2/3 - r/9)) is taken for r up to 1 and no further:
  // with r in [1/2, 1] its factors lie in [0.444, 0.722] and [1/2, 1], so it is at most 1.445 mtbf.
  const auto range = bound(entry_of<DalyInterval>(), std::vector<Interval>{{0.5, 20.0}, 1.0}).results[0];
  CHECK(range.contains(1.0));
  CHECK(range.high < 1.45);
}

TEST_CASE("goodput loses writes, work and restarts", "[physics]") {
  // 180 / 3600 + (1/2) / 100 + 1 / 100 = 0.065
  FirstOrderGoodput::Inputs<double> in{
      .interval = 1 * u::h, .checkpoint_time = 180 * u::s, .restart_time = 1 * u::h, .mtbf = 100 * u::h};
  CHECK_THAT(FirstOrderGoodput::solve(in).goodput, WithinRel(0.935, 1e-14));
  in.lost_share = 0;
  CHECK_THAT(FirstOrderGoodput::solve(in).goodput, WithinRel(0.94, 1e-14));
  in.checkpoint_time = 2 * u::h;
  CHECK(FirstOrderGoodput::solve(in).goodput == 0);
}

TEST_CASE("spares cover a Poisson number of repairs", "[physics]") {
  const auto spare = [](double spares, double repair = 2) {
    return SpareCoverage::solve(
        {.nodes = 1000, .node_mtbf = 1000 * u::h, .repair_time = repair * u::h, .spares = spares});
  };
  // 1000 * 2 h / 1000 h = 2 in repair: exp(-2) (1 + 2 + 2^2/2)
  CHECK_THAT(spare(0).in_repair, WithinRel(2.0, 1e-14));
  CHECK_THAT(spare(0).coverage, WithinRel(std::exp(-2.0), 1e-14));
  CHECK_THAT(spare(1).coverage, WithinRel(3 * std::exp(-2.0), 1e-14));
  CHECK_THAT(spare(2).coverage, WithinRel(5 * std::exp(-2.0), 1e-14));
  CHECK_THAT(spare(100).coverage, WithinRel(1.0, 1e-14));
  CHECK(spare(0, 0).coverage == 1);
  // Where the mean would underflow it stays at 700, and what is in repair is said all the same.
  CHECK_THAT(spare(0, 1000).in_repair, WithinRel(1000.0, 1e-14));
  CHECK_THAT(spare(0, 1000).coverage, WithinRel(std::exp(-700.0), 1e-12));
}

TEST_CASE("a checkpoint costs its write, or its snapshot alone", "[physics]") {
  // 1000 GB by 10 writers of 2 GB/s: 50 s; with 10 s of snapshot 60 s of every 1000 s
  CheckpointCost::Inputs<double> in{.size = 1000 * u::GB,
                                    .writers = 10,
                                    .writer_bandwidth = 2 * u::GB / u::s,
                                    .shared_limit = 50 * u::GB / u::s,
                                    .snapshot = 10 * u::s,
                                    .interval = 1000 * u::s,
                                    .asynchronous = 0};
  auto r = CheckpointCost::solve(in);
  CHECK_THAT(r.write_time.in(u::s), WithinRel(50.0, 1e-14));
  CHECK_THAT(r.stall.in(u::s), WithinRel(60.0, 1e-14));
  CHECK_THAT(r.overhead, WithinRel(0.06, 1e-14));
  in.asynchronous = 1;
  CHECK_THAT(CheckpointCost::solve(in).overhead, WithinRel(0.01, 1e-14));
  in.asynchronous = 0.5;
  CHECK_THAT(CheckpointCost::solve(in).stall.in(u::s), WithinRel(35.0, 1e-14));
  in.shared_limit = 10 * u::GB / u::s;  // the file system is slower than the writers
  CHECK_THAT(CheckpointCost::solve(in).write_time.in(u::s), WithinRel(100.0, 1e-14));
}
