#include "support/catch.hpp"

#include <mlsysim/physics/topology.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("a fat tree thinned by its edge", "[physics]") {
  // 16 * 50 GB/s / 2, and half of it
  ClosBisection::Inputs<double> in{.bandwidth = 50 * u::GB / u::s, .nodes = 16};
  CHECK_THAT(ClosBisection::solve(in).bisection.in(u::GB / u::s), WithinRel(400.0, 1e-14));
  in.oversubscription = 2;
  CHECK_THAT(ClosBisection::solve(in).bisection.in(u::GB / u::s), WithinRel(200.0, 1e-14));
}

TEST_CASE("a cut through 4 x 4 x 4", "[physics]") {
  // 16 lines, each cut twice where it is closed; 3 * 4 / 4 hops
  TorusBisection::Inputs<double> in{.bandwidth = 10 * u::GB / u::s, .nodes = 64, .dimensions = 3};
  CHECK_THAT(TorusBisection::solve(in).bisection.in(u::GB / u::s), WithinRel(320.0, 1e-13));
  CHECK_THAT(TorusBisection::solve(in).hops, WithinRel(3.0, 1e-13));
  in.rows_cut = 1;
  CHECK_THAT(TorusBisection::solve(in).bisection.in(u::GB / u::s), WithinRel(160.0, 1e-13));
  in.dimensions = 1;  // a row of 64
  CHECK_THAT(TorusBisection::solve(in).bisection.in(u::GB / u::s), WithinRel(10.0, 1e-13));
  CHECK_THAT(TorusBisection::solve(in).hops, WithinRel(16.0, 1e-13));
}

TEST_CASE("a dragonfly of 72 nodes has 9 groups", "[physics]") {
  // a = 4 routers with p = h = 2: a h + 1 = 9 groups of a p = 8 nodes; 9^2 / 4 links are cut
  const auto r = DragonflyBisection::solve({.bandwidth = 10 * u::GB / u::s, .nodes = 72});
  CHECK_THAT(r.groups, WithinRel(9.0, 1e-14));
  CHECK_THAT(r.bisection.in(u::GB / u::s), WithinRel(202.5, 1e-14));
}
