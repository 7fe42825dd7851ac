#include "support/catch.hpp"

#include <mlsysim/physics/data_path.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("cache and storage deliver their shares at the same time", "[physics]") {
  const auto supply = [](double hit, double host = 100) {
    return CachedSupply::solve({.cache_bandwidth = 10 * u::GB / u::s,
                                .remote_bandwidth = 2 * u::GB / u::s,
                                .host_bandwidth = host * u::GB / u::s,
                                .hit_ratio = hit})
        .supply.in(u::GB / u::s);
  };
  // At 4/5 the cache could do 10 / 0.8 = 12.5, storage 2 / 0.2 = 10; at 9/10 the cache is the slower: 10 /
  // 0.9
  CHECK_THAT(supply(0.8), WithinRel(10.0, 1e-14));
  CHECK_THAT(supply(0.9), WithinRel(100.0 / 9, 1e-14));
  // Where both end together they add up: 10 + 2 at 10/12
  CHECK_THAT(supply(10.0 / 12), WithinRel(12.0, 1e-14));
  CHECK_THAT(supply(0), WithinRel(2.0, 1e-11));
  CHECK_THAT(supply(1), WithinRel(10.0, 1e-11));
  CHECK_THAT(supply(0.8, 5), WithinRel(5.0, 1e-14));
}

TEST_CASE("preparation hides behind a step as far as it overlaps", "[physics]") {
  // 100 samples of 200 kB with 2 workers of 0.1 GB/s: 20 MB / 0.2 GB/s = 100 ms beside a step of 80 ms
  InputStall::Inputs<double> in{.batch_size = 100,
                                .sample_size = 200 * u::kB,
                                .worker_rate = 0.1 * u::GB / u::s,
                                .workers = 2,
                                .step = 80 * u::ms};
  auto r = InputStall::solve(in);
  CHECK_THAT(r.prepare.in(u::ms), WithinRel(100.0, 1e-14));
  CHECK_THAT(r.elapsed.in(u::ms), WithinRel(100.0, 1e-14));
  CHECK_THAT(r.utilization, WithinRel(0.8, 1e-14));
  in.overlap = 0;  // one after the other: 180 ms
  r = InputStall::solve(in);
  CHECK_THAT(r.elapsed.in(u::ms), WithinRel(180.0, 1e-14));
  CHECK_THAT(r.utilization, WithinRel(80.0 / 180, 1e-14));
  in.overlap = 0.5;  // half of the shorter one comes on top: 100 + 40
  r = InputStall::solve(in);
  CHECK_THAT(r.elapsed.in(u::ms), WithinRel(140.0, 1e-14));
  CHECK_THAT(r.utilization, WithinRel(80.0 / 140, 1e-14));
  in.step = 200 * u::ms;  // now preparation is the shorter: 200 + 50
  r = InputStall::solve(in);
  CHECK_THAT(r.elapsed.in(u::ms), WithinRel(250.0, 1e-14));
  CHECK_THAT(r.utilization, WithinRel(0.8, 1e-14));
}
