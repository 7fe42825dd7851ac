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
  CHECK_THAT(odd.efficiency, WithinRel(4096.0 * 4097.0 / (5.0 * 132 * 128 * 256), 1e-14));
  // Four products share waves: 4 * 512 = 2048 tiles in 16 waves (15.5), not 4 * 4.
  CHECK(
      TileWave::solve({.m = 4096, .n = 4096, .count = 4, .tile_m = 128, .tile_n = 256, .units = 132}).waves ==
      16.0);
}

TEST_CASE("matmul time on an H100-like device", "[physics]") {
  MatmulTime::Inputs<double> in{.m = 4096,
                                .n = 4096,
                                .k = 4096,
                                .count = 1,
                                .a_bytes = 2 * u::B,
                                .b_bytes = 2 * u::B,
                                .c_bytes = 2 * u::B,
                                .tile_m = 128,
                                .tile_n = 256,
                                .units = 132,
                                .peak = 989 * u::TFLOP / u::s,
                                .bandwidth = 3.35 * u::TB / u::s,
                                .launch = 3 * u::us};
  const auto r = MatmulTime::solve(in);
  // occupied = 4 waves * 132 * 128 * 256 * 2 * 4096 = 1.417340e11 FLOP: 143.310 us at peak
  CHECK_THAT(r.compute.in(u::us), WithinRel(143.3104, 1e-6));
  // 3 * 4096^2 * 2 B = 100.663 MB: 30.0487 us
  CHECK_THAT(r.memory.in(u::us), WithinRel(30.04874, 1e-6));
  const double soft = std::pow(std::pow(143.3104, 4) + std::pow(30.04874, 4), 0.25);
  CHECK_THAT(r.time.in(u::us), WithinRel(3.0 + soft, 1e-6));
  CHECK_THAT(r.tile_efficiency, WithinRel(512.0 / 528.0, 1e-14));

  in.count = 0;  // an operator that vanishes costs nothing, launch included
  CHECK(MatmulTime::solve(in).time.base() == 0.0);
  CHECK(MatmulTime::solve(in).tile_efficiency == 0.0);
}

TEST_CASE("a product with a single row is memory-bound and wastes its tiles", "[physics]") {
  const auto r = MatmulTime::solve({.m = 1,
                                    .n = 4096,
                                    .k = 4096,
                                    .count = 1,
                                    .a_bytes = 2 * u::B,
                                    .b_bytes = 2 * u::B,
                                    .c_bytes = 2 * u::B,
                                    .tile_m = 64,
                                    .tile_n = 64,
                                    .units = 132,
                                    .peak = 989 * u::TFLOP / u::s,
                                    .bandwidth = 3.35 * u::TB / u::s,
                                    .launch = 0 * u::us});
  CHECK(r.memory > r.compute);
  CHECK(r.tile_efficiency < 1.0 / 64);
}
