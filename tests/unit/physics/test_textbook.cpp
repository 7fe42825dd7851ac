#include "support/catch.hpp"

#include <mlsysim/physics/textbook.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("a pass from totals", "[physics]") {
  // 2 * 100 GFLOP / (100 TFLOP/s / 2) = 4 ms; 10 GB (1 + 0.05 * 2) + 1 GB = 12 GB at 2 TB/s = 6 ms; 0.5 ms +
  // 30 * 3 * 10 us = 1.4 ms
  TextbookPass::Inputs<double> in{.work = 100 * u::GFLOP,
                                  .weights = 10 * u::GB,
                                  .batch_size = 2,
                                  .efficiency = 0.5,
                                  .activation_share = 0.05,
                                  .layers = 30,
                                  .passes = 3,
                                  .peak = 100 * u::TFLOP / u::s,
                                  .bandwidth = 2 * u::TB / u::s,
                                  .layer_overhead = 10 * u::us,
                                  .dispatch = 500 * u::us,
                                  .gathered = 1 * u::GB};
  auto r = TextbookPass::solve(in);
  CHECK_THAT(r.traffic.in(u::GB), WithinRel(12.0, 1e-14));
  CHECK_THAT(r.latency_compute.in(u::ms), WithinRel(4.0, 1e-14));
  CHECK_THAT(r.latency_memory.in(u::ms), WithinRel(6.0, 1e-14));
  CHECK_THAT(r.latency_overhead.in(u::ms), WithinRel(1.4, 1e-14));
  CHECK_THAT(r.latency.in(u::ms), WithinRel(7.4, 1e-14));
  in.efficiency = 0.25;  // 8 ms of arithmetic
  CHECK_THAT(TextbookPass::solve(in).latency.in(u::ms), WithinRel(9.4, 1e-14));
}

TEST_CASE("work of a prefill without a mask", "[physics]") {
  // 2 * 1e9 * 100 + 4 * 10 * 1000 * 100 * 500 = 2.02e11, twice
  TextbookPrefillWork::Inputs<double> in{.params = 1 * u::Gparam,
                                         .layers = 10,
                                         .width = 1000,
                                         .new_tokens = 100,
                                         .context = 500,
                                         .batch_size = 2};
  CHECK_THAT(TextbookPrefillWork::solve(in).work.in(u::FLOP), WithinRel(4.04e11, 1e-14));
  in.context = 0;
  CHECK_THAT(TextbookPrefillWork::solve(in).work.in(u::FLOP), WithinRel(4e11, 1e-14));
}

TEST_CASE("a token reads weights and cache", "[physics]") {
  // (16 + 4) GB / 2 TB/s + 80 * 5 us
  const auto r = TextbookDecode::solve({.weights = 16 * u::GB,
                                        .kv_cache = 4 * u::GB,
                                        .bandwidth = 2 * u::TB / u::s,
                                        .layer_overhead = 5 * u::us,
                                        .layers = 80});
  CHECK_THAT(r.itl.in(u::ms), WithinRel(10.4, 1e-14));
}
