#include "support/catch.hpp"

#include <mlsysim/physics/matmul.hpp>

#include <cmath>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("matmul work and traffic by counting", "[physics]") {
  // 2 x 3 times 3 x 5: 2 * 5 results of 3 multiply-adds = 60 FLOP; 6 A elements, 15 B, 10 C; three such
  // products.
  const auto r = MatmulWork::solve(
      {.m = 2, .n = 5, .k = 3, .count = 3, .a_bytes = 1 * u::B, .b_bytes = 2 * u::B, .c_bytes = 4 * u::B});
  CHECK_THAT(r.work.in(u::FLOP), WithinRel(180.0, 1e-15));
  CHECK_THAT(r.traffic.in(u::B), WithinRel(3.0 * (6 * 1 + 15 * 2 + 10 * 4), 1e-15));
}

TEST_CASE("tiles and waves of a product on 132 units", "[physics]") {
  // 4096 x 4096 in 128 x 256 tiles: 32 x 16 = 512 tiles = 3.88 waves of 132, so 4 waves; 512 / 528 is useful.
  const auto even =
      TileWave::solve({.m = 4096, .n = 4096, .count = 1, .tile_m = 128, .tile_n = 256, .units = 132});
  CHECK(even.tiles == 512.0);
  CHECK(even.waves == 4.0);
  CHECK_THAT(even.efficiency, WithinRel(512.0 / 528.0, 1e-14));
  // One more column costs a column of 32 tiles: 544 tiles, 5 waves; 4096 * 4097 useful of 5 * 132 * 128 *
  // 256.
  const auto odd =
      TileWave::solve({.m = 4096, .n = 4097, .count = 1, .tile_m = 128, .tile_n = 256, .units = 132});
  CHECK(odd.waves == 5.0);
  // A single full wave has no idle unit.
  CHECK(TileWave::solve({.m = 1536, .n = 2816, .count = 1, .tile_m = 128, .tile_n = 256, .units = 132})
            .efficiency == 1);
  CHECK_THAT(odd.efficiency, WithinRel(4096.0 * 4097.0 / (5.0 * 132 * 128 * 256), 1e-14));
  // Four products share waves: 4 * 512 = 2048 tiles in 16 waves (15.5), not 4 * 4.
  CHECK(
      TileWave::solve({.m = 4096, .n = 4096, .count = 4, .tile_m = 128, .tile_n = 256, .units = 132}).waves ==
      16.0);
}

namespace {
constexpr double kStep =
    128.0 * 256 * 2 * 132 / 989e6;  // of one unit: 128 * 256 * 2 FLOP at 989/132 TFLOP/s [us]

MatmulTime::Inputs<double> on_132_units(double m, double n, double k) {
  return {.m = m,
          .n = n,
          .k = k,
          .count = 1,
          .traffic = 2 * (m * k + n * k + m * n) * u::B,
          .tile_m = 128,
          .tile_n = 256,
          .units = 132,
          .split_depth = 64,
          .peak = 989 * u::TFLOP / u::s,
          .bandwidth = 3.35 * u::TB / u::s,
          .launch = 3 * u::us,
          .wave = 0.5 * u::us,
          .split = 4 * u::us};
}
}  // namespace

TEST_CASE("matmul time on an H100-like device", "[physics]") {
  auto in = on_132_units(4096, 4096, 4096);
  in.split = 10 * u::us;  // too dear to even out the last wave
  const auto r = MatmulTime::solve(in);
  // 4 waves of 4096 steps and 0.5 us.
  CHECK_THAT(r.compute.in(u::us), WithinRel(4 * (4096 * kStep + 0.5), 1e-6));
  // 3 * 4096^2 * 2 B = 100.663 MB: 30.0487 us
  CHECK_THAT(r.memory.in(u::us), WithinRel(30.04874, 1e-6));
  CHECK_THAT(r.time.in(u::us), WithinRel(3.0 + std::hypot(4 * (4096 * kStep + 0.5), 30.04874), 1e-6));
  CHECK_THAT(r.tile_efficiency, WithinRel(512.0 / 528.0, 1e-14));

  in.count = 8;  // of many in one launch, a single one is paid
  in.launch = 1 * u::s;
  const auto many = MatmulTime::solve(in).time;
  in.launch = {};
  CHECK_THAT((many - MatmulTime::solve(in).time).in(u::s), WithinRel(1.0, 1e-9));
  in.launch = 1 * u::s;
  in.count = 0;  // an operator that vanishes costs nothing, launch included
  in.traffic = {};
  CHECK(MatmulTime::solve(in).time.base() == 0.0);
  CHECK(MatmulTime::solve(in).tile_efficiency == 0.0);
}

TEST_CASE("a deep product with few tiles splits its depth", "[physics]") {
  // 128 x 256 is one tile; whole, one unit does 65536 steps = 573.24 us. Split over 132 units: 4.3427 us and
  // two fixed times; memory 2 (128 + 256) 65536 B and the result = 15.044 us.
  auto in = on_132_units(128, 256, 65536);
  const double spread = 65536.0 / 132 * kStep + 0.5, memory = 50397184.0 / 3.35e6;
  CHECK_THAT(MatmulTime::solve(in).time.in(u::us), WithinRel(3.0 + std::hypot(spread, memory) + 4.0, 1e-6));
  in.split = 1 * u::s;  // not worth it
  CHECK_THAT(MatmulTime::solve(in).compute.in(u::us), WithinRel(65536 * kStep + 0.5, 1e-6));
}

TEST_CASE("one tile more than the units takes a second wave, unless the work is spread", "[physics]") {
  auto in = on_132_units(128 * 133, 256, 4096);
  in.traffic = {};
  const double wave = 4096 * kStep + 0.5;
  CHECK_THAT(MatmulTime::solve(in).compute.in(u::us),
             WithinRel(133.0 / 132 * (wave - 0.5) + 0.5 + 4.0, 1e-6));
  in.split = 100 * u::us;
  CHECK_THAT(MatmulTime::solve(in).compute.in(u::us), WithinRel(2 * wave, 1e-6));
}

TEST_CASE("a burst is faster than the sustained rate, and wears off", "[physics]") {
  const auto rate = [](double ms) {
    return BurstRate::solve({.work = ms * 1e-3 * 700 * u::TFLOP,
                             .peak = 700 * u::TFLOP / u::s,
                             .burst = 0.2,
                             .burst_time = 50 * u::ms})
        .rate.in(u::TFLOP / u::s);
  };
  CHECK_THAT(rate(0), WithinRel(840.0, 1e-12));
  CHECK_THAT(rate(50), WithinRel(770.0, 1e-12));  // burst_time of work leaves half of the gain
  CHECK_THAT(rate(50e6), WithinRel(700.0, 1e-5));
}

TEST_CASE("a product with a single row is memory-bound and wastes its tiles", "[physics]") {
  auto in = on_132_units(1, 4096, 4096);
  in.tile_m = in.tile_n = 64;
  const auto r = MatmulTime::solve(in);
  CHECK(r.memory > r.compute);
  CHECK(r.tile_efficiency < 1.0 / 64);
}
