#include "support/catch.hpp"

#include <mlsysim/physics/training.hpp>
#include <mlsysim/physics/utilisation.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("utilisation of PaLM 540B", "[physics]") {
  // Chowdhery et al. 2022, appendix B and table 3: 238.3e3 token/s on 6144 TPU v4 of 275 TFLOP/s give 45.7 %
  // without and 46.2 % with attention: per token 6 * 540.35e9 FLOP, and 12 * 118 layers * 48 heads * 256 *
  // 2048 tokens.
  const auto tokens = 238.3e3 * u::token;
  const auto matrices = TrainingWork::solve({.params = 540.35 * u::Gparam, .tokens = tokens}).work;
  const auto attention = 12.0 * 118 * 48 * 256 * 2048 * 238.3e3 * u::FLOP;
  const auto mfu = [](Work<> work) {
    return ModelFlopsUtilisation::solve(
               {.work = work, .devices = 6144, .peak = 275 * u::TFLOP / u::s, .time = 1 * u::s})
        .mfu;
  };
  CHECK_THAT(mfu(matrices), WithinRel(0.457, 1.2e-3));
  CHECK_THAT(mfu(matrices + attention), WithinRel(0.462, 1.2e-3));
}

TEST_CASE("recomputing the forward pass makes hardware utilisation 4/3 of the model's", "[physics]") {
  const auto work = 3.0 * u::PFLOP;
  const double mfu = ModelFlopsUtilisation::solve(
                         {.work = work, .devices = 8, .peak = 1 * u::PFLOP / u::s, .time = 1 * u::s})
                         .mfu;
  CHECK_THAT(mfu, WithinRel(0.375, 1e-14));
  const auto hfu = [&](Work<> again) {
    return HardwareFlopsUtilisation::solve({.work = work,
                                            .recomputed = again,
                                            .devices = 8,
                                            .peak = 1 * u::PFLOP / u::s,
                                            .time = 1 * u::s})
        .hfu;
  };
  CHECK_THAT(hfu(work / 3.0), WithinRel(0.5, 1e-14));
  CHECK_THAT(hfu(Work<>()), WithinRel(mfu, 1e-15));
}

TEST_CASE("time from utilisation and utilisation from time are inverse", "[physics]") {
  const auto work = 7e21 * u::FLOP;
  const auto time =
      TrainingTime::solve({.work = work, .devices = 96, .peak = 312 * u::TFLOP / u::s, .mfu = 0.43}).time;
  CHECK_THAT(
      ModelFlopsUtilisation::solve({.work = work, .devices = 96, .peak = 312 * u::TFLOP / u::s, .time = time})
          .mfu,
      WithinRel(0.43, 1e-14));
}
