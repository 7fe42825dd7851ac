#include "support/catch.hpp"

#include <mlsysim/physics/small_kernels.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

namespace {

SmallKernelTime::Inputs<double> element_wise(double bytes) {
  return {.read = bytes * u::B,
          .written = bytes * u::B,
          .l2_cache = 50.0 * u::MB,
          .units = 132,
          .floor = 2600,
          .start = 2600,
          .switched = 1200,
          .share = 0.9,
          .cached = 0.6,
          .bandwidth = 3.35 * (u::TB / u::s),
          .clock = 1.98 * u::GHz};
}
double time_of(const SmallKernelTime::Inputs<double>& in) { return SmallKernelTime::solve(in).time.in(u::s); }

}  // namespace

TEST_CASE("the smallest kernel takes cycles, a large one moves bytes", "[physics]") {
  CHECK_THAT(time_of(element_wise(0)), WithinRel(3800 / 1.98e9, 1e-12));
  const double bytes = 4e9;
  CHECK_THAT(time_of(element_wise(bytes)), WithinRel(3800 / 1.98e9 + 2 * bytes / (0.9 * 3.35e12), 1e-12));
}

TEST_CASE("what the kernel before wrote is read from the cache while it fits half of it", "[physics]") {
  const double fits = 24e6, not_any_more = 26e6, rate = 0.9 * 3.35e12;
  CHECK_THAT(time_of(element_wise(fits)), WithinRel(3800 / 1.98e9 + fits * 1.4 / rate, 1e-12));
  CHECK_THAT(time_of(element_wise(not_any_more)), WithinRel(3800 / 1.98e9 + not_any_more * 2 / rate, 1e-12));
}

TEST_CASE("a norm takes a wave for each 16 rows of a unit", "[physics]") {
  auto in = element_wise(0);
  in.floor = 8470;
  in.row = 8.0 * u::kB;
  in.rows = 132 * 16 + 1;
  CHECK_THAT(time_of(in), WithinRel((1200 + 2600 + 2 * (8470 - 2600)) / 1.98e9, 1e-12));
}

TEST_CASE("a convolution runs in whole waves or divides its depth", "[physics]") {
  ConvolutionTime::Inputs<double> in{.m = 128.0 * 264,
                                     .n = 64,
                                     .k = 576,
                                     .groups = 1,
                                     .tile_m = 128,
                                     .tile_n = 64,
                                     .group_n = 8,
                                     .depth_step = 32,
                                     .units = 132,
                                     .floor = 0,
                                     .wave = 0,
                                     .split = 1e9,
                                     .split_depth = 700,
                                     .rate = 100.0 * (u::TFLOP / u::s),
                                     .traffic = 0.0 * u::B,
                                     .bandwidth = 3.0 * (u::TB / u::s),
                                     .clock = 2.0 * u::GHz};
  // Two whole waves are as fast as the rate says; one tile more takes half as long again.
  CHECK_THAT(ConvolutionTime::solve(in).time.in(u::s), WithinRel(2.0 * 128 * 264 * 64 * 576 / 1e14, 1e-12));
  in.m += 1;
  CHECK_THAT(ConvolutionTime::solve(in).time.in(u::s), WithinRel(2.0 * 128 * 396 * 64 * 576 / 1e14, 1e-12));
}
