#include "support/catch.hpp"

#include <mlsysim/physics/reliability.hpp>

#include <cmath>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("failures of a cluster of 32 nodes in 100 hours", "[physics]") {
  // Node 30 000 / 7 = 4285.71 h, cluster 133.929 h: 0.746667 failures expected, P = 1 - exp(-0.746667) =
  // 0.526056
  const auto mtbf = ClusterMtbf::solve({.part_mtbf = 30000.0 / 7 * u::h, .parts = 32}).mtbf;
  CHECK_THAT(mtbf.in(u::h), WithinRel(133.929, 4e-6));
  const auto p = FailureProbability::solve({.time = 100 * u::h, .mtbf = mtbf});
  CHECK_THAT(p.expected, WithinRel(0.746667, 1e-6));
  CHECK_THAT(p.probability, WithinRel(0.526056, 2e-6));
  // Young, 60 s to write a checkpoint: sqrt(2 * 60 * 482 143) = 7606.39 s
  CHECK_THAT(YoungInterval::solve({.checkpoint_time = 60 * u::s, .mtbf = mtbf}).interval.in(u::s),
             WithinRel(7606.39, 1e-6));
}

TEST_CASE("a rare failure keeps its digits", "[physics]") {
  const auto p = FailureProbability::solve({.time = 1 * u::s, .mtbf = 1e12 * u::s});
  CHECK_THAT(p.probability, WithinRel(1e-12, 1e-11));
  for (const double x : {9e-6, 1.1e-5, 0.3})  // both sides of the change of formula
    CHECK_THAT(FailureProbability::solve({.time = x * u::s, .mtbf = 1 * u::s}).probability,
               WithinRel(-std::expm1(-x), 2e-11));
}

TEST_CASE("goodput counts checkpoints, lost work and restarts", "[physics]") {
  // First order: 60 / 7606.39 + 7606.39 / (2 * 482 143) + 300 / 482 143 = 0.016398 lost. MLSys-im's 0.991490
  // leaves out the middle term, the work that a failure loses.
  CheckpointGoodput::Inputs<double> in{.interval = 7606.39 * u::s,
                                       .checkpoint_time = 60 * u::s,
                                       .restart_time = 300 * u::s,
                                       .mtbf = 482142.86 * u::s};
  CHECK_THAT(CheckpointGoodput::solve(in).goodput, WithinAbs(1 - 0.016398, 2e-4));
  CHECK_THAT(
      CheckpointGoodput::solve(in).goodput,
      WithinRel(7606.39 / 482142.86 * std::exp(-300 / 482142.86) / std::expm1(7666.39 / 482142.86), 1e-11));
  // Without failures only the checkpoints cost.
  in.mtbf = 1e15 * u::s;
  CHECK_THAT(CheckpointGoodput::solve(in).goodput, WithinRel(7606.39 / 7666.39, 1e-9));
  // Failures much faster than checkpoints leave nothing, and nothing overflows.
  in.mtbf = 1 * u::s;
  CHECK(CheckpointGoodput::solve(in).goodput < 1e-200);
}

TEST_CASE("Young's interval is near the best one", "[physics]") {
  const auto goodput = [](double interval_s) {
    return CheckpointGoodput::solve({.interval = interval_s * u::s,
                                     .checkpoint_time = 60 * u::s,
                                     .restart_time = 0 * u::s,
                                     .mtbf = 24 * u::h})
        .goodput;
  };
  const double young =
      YoungInterval::solve({.checkpoint_time = 60 * u::s, .mtbf = 24 * u::h}).interval.in(u::s);
  CHECK(goodput(young) > goodput(1.2 * young));
  CHECK(goodput(young) > goodput(young / 1.2));
}
