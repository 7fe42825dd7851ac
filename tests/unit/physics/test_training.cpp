#include "support/catch.hpp"

#include <mlsysim/physics/training.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("training arithmetic of GPT-3", "[physics]") {
  // 6 * 175e9 * 300e9 = 3.15e23; Brown et al. 2020, table D.1, print 3.14e23 for 174.6e9 parameters.
  const auto r = TrainingWork::solve({.params = 175 * u::Gparam, .tokens = 300 * u::Gtoken});
  CHECK_THAT(r.work.in(u::ZFLOP), WithinRel(315.0, 1e-14));
  CHECK_THAT(TrainingWork::solve({.params = 174.6 * u::Gparam, .tokens = 300 * u::Gtoken}).work.in(u::ZFLOP),
             WithinRel(314.0, 2e-3));
}

TEST_CASE("one token costs two operations per parameter, training three times that", "[physics]") {
  const TrainingWork::Inputs<double> in{.params = 8.03 * u::Gparam, .tokens = 1 * u::token};
  CHECK_THAT(DecodeWork::solve(in).work.in(u::GFLOP), WithinRel(16.06, 1e-14));
  CHECK_THAT(TrainingWork::solve(in).work / DecodeWork::solve(in).work, WithinRel(3.0, 1e-15));
}

TEST_CASE("compute-optimal size of a budget", "[physics]") {
  // 1.2e20 = 6 * 20 * P^2: P = 1e9, D = 2e10
  const auto r = ChinchillaOptimal::solve({.work = 1.2e20 * u::FLOP});
  CHECK_THAT(r.params.in(u::Gparam), WithinRel(1.0, 1e-14));
  CHECK_THAT(r.tokens.in(u::Gtoken), WithinRel(20.0, 1e-14));
  // 1000 days of an H100 at 0.4 * 989 TFLOP/s = 3.41798e22 FLOP: 16.8770e9 parameters, 337.539e9 tokens
  const auto days = ChinchillaOptimal::solve({.work = 0.4 * 989 * u::TFLOP / u::s * (1000 * u::d)});
  CHECK_THAT(days.params.in(u::Gparam), WithinRel(16.8770, 3e-6));
  CHECK_THAT(days.tokens.in(u::Gtoken), WithinRel(337.539, 3e-6));
}

TEST_CASE("the optimum spends exactly its budget", "[physics]") {
  for (const double ratio : {5.0, 20.0, 200.0}) {
    const auto best =
        ChinchillaOptimal::solve({.work = 7e22 * u::FLOP, .tokens_per_param = ratio * u::token / u::param});
    CHECK_THAT(best.tokens.base() / best.params.base(), WithinRel(ratio, 1e-13));
    CHECK_THAT(TrainingWork::solve({.params = best.params, .tokens = best.tokens}).work.base(),
               WithinRel(7e22, 1e-13));
  }
}

TEST_CASE("training time of a 175B model on 1024 A100", "[physics]") {
  // Narayanan et al. 2021, eq. (4): 8 T P / (n X) with T = 300e9, P = 175e9, n = 1024, X = 140 TFLOP/s: 33.9
  // days ("34").
  const auto work =
      8.0 / 6.0 * TrainingWork::solve({.params = 175 * u::Gparam, .tokens = 300 * u::Gtoken}).work;
  const auto r = TrainingTime::solve(
      {.work = work, .devices = 1024, .peak = 312 * u::TFLOP / u::s, .mfu = 140.0 / 312.0});
  CHECK_THAT(r.time.in(u::d), WithinRel(33.9085, 2e-5));
}
