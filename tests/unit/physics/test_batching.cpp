#include "support/catch.hpp"

#include <mlsysim/physics/batching.hpp>

#include <cmath>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("pages hold what a geometric series sums to", "[physics]") {
  // A step of a page is ln 2 of the scale, so every further page is half as likely: 16 (1 + 1/2 + 1/4 + 1/8)
  // = 30 tokens of four pages. The mean of the length itself is scale (1 - 2^-4).
  const double scale = 16 / std::log(2.0);
  const auto four = PagedTokens::solve({.scale = scale, .page_tokens = 16, .max_tokens = 64});
  CHECK_THAT(four.held, WithinRel(30.0, 1e-14));
  CHECK_THAT(four.mean, WithinRel(scale * 15 / 16, 1e-14));
  // The last page is whole, even if only a part of it is used: 60 tokens need four pages too.
  CHECK_THAT(PagedTokens::solve({.scale = scale, .page_tokens = 16, .max_tokens = 60}).held,
             WithinRel(30.0, 1e-14));
  CHECK_THAT(PagedTokens::solve({.scale = scale, .page_tokens = 16, .max_tokens = 65}).held,
             WithinRel(31.0, 1e-14));
  // Without a cap 16 / (1 - 1/2) = 32, and pages of one token waste half a token of a long request.
  CHECK_THAT(PagedTokens::solve({.scale = scale, .page_tokens = 16, .max_tokens = 1e6}).held,
             WithinRel(32.0, 1e-14));
  const auto small = PagedTokens::solve({.scale = 1e4, .page_tokens = 1, .max_tokens = 1e7});
  CHECK_THAT(small.held - small.mean, WithinAbs(0.5, 1e-4));
}

TEST_CASE("a step reads the weights once and the cache of every request", "[physics]") {
  // (16 GB + 8 * 1 GB) / 3 TB/s = 8 ms for 8 tokens
  const BatchedDecodeRate::Inputs<double> in{
      .batch_size = 8, .weights = 16 * u::GB, .kv_per_request = 1 * u::GB, .bandwidth = 3 * u::TB / u::s};
  const auto r = BatchedDecodeRate::solve(in);
  CHECK_THAT(r.itl.in(u::ms), WithinRel(8.0, 1e-14));
  CHECK_THAT(r.token_throughput.in(u::token / u::s), WithinRel(1000.0, 1e-14));
  auto alone = in;
  alone.batch_size = 1;
  alone.kv_per_request = 0 * u::GB;
  CHECK_THAT(BatchedDecodeRate::solve(alone).token_throughput.in(u::token / u::s), WithinRel(187.5, 1e-14));
  // However large the batch, the cache sets the end: 3 TB/s / 1 GB
  auto many = in;
  many.batch_size = 1e9;
  CHECK_THAT(BatchedDecodeRate::solve(many).token_throughput.in(u::token / u::s), WithinRel(3000.0, 1e-7));
}

TEST_CASE("a layer takes as long as its weights or its arithmetic", "[physics]") {
  // 3 GB / 1.5 TB/s = 2 ms; 4 * 2 GFLOP / (10 TFLOP/s / 2) + 0.1 ms = 1.7 ms; equal without dispatch at 2 ms
  // * 5 TFLOP/s / 2 GFLOP
  WeightStreamLayer::Inputs<double> in{.layer_weights = 3 * u::GB,
                                       .bandwidth = 1.5 * u::TB / u::s,
                                       .work_per_sample = 2 * u::GFLOP,
                                       .batch_size = 4,
                                       .peak = 10 * u::TFLOP / u::s,
                                       .efficiency = 0.5,
                                       .dispatch = 100 * u::us};
  auto r = WeightStreamLayer::solve(in);
  CHECK_THAT(r.injection.in(u::ms), WithinRel(2.0, 1e-14));
  CHECK_THAT(r.compute.in(u::ms), WithinRel(1.7, 1e-14));
  CHECK(r.time == r.injection);
  CHECK_THAT(r.balance_batch, WithinRel(5.0, 1e-14));
  in.batch_size = 8;
  r = WeightStreamLayer::solve(in);
  CHECK_THAT(r.time.in(u::ms), WithinRel(3.3, 1e-14));
  in.batch_size = r.balance_batch;
  in.dispatch = 0 * u::us;
  r = WeightStreamLayer::solve(in);
  CHECK_THAT(r.compute.in(u::ms), WithinRel(r.injection.in(u::ms), 1e-14));
}
