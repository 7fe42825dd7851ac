#include "support/catch.hpp"

#include <mlsysim/physics/memory.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("ZeRO on a 7.5B model over 64 devices", "[physics]") {
  // Rajbhandari et al. 2020, figure 1: 120 GB, 31.4, 16.6 and 1.9 GB for stages 0 to 3 (K = 12).
  TrainingStateBytes::Inputs<double> in{.params = 7.5 * u::Gparam,
                                        .weight_bytes = 2 * u::B / u::param,
                                        .gradient_bytes = 2 * u::B / u::param,
                                        .optimizer_bytes = 12 * u::B / u::param,
                                        .dp_size = 64};
  const double published[] = {120.0, 31.4, 16.6, 1.88};
  // 7.5 * (2 + 2 + 12), 7.5 * (4 + 12/64), 7.5 * (2 + 14/64), 7.5 * 16/64
  const double derived[] = {120.0, 31.40625, 16.640625, 1.875};
  for (int stage = 0; stage < 4; ++stage) {
    in.zero_stage = stage;
    const auto r = TrainingStateBytes::solve(in);
    CHECK_THAT(r.total.in(u::GB), WithinRel(derived[stage], 1e-14));
    CHECK_THAT(r.total.in(u::GB), WithinRel(published[stage], 4e-3));
    CHECK_THAT((r.weights + r.gradients + r.optimizer_states).in(u::GB), WithinRel(derived[stage], 1e-14));
  }
  CHECK_THAT(TrainingStateBytes::solve(in).weights.in(u::GB), WithinRel(15.0 / 64, 1e-14));
}

TEST_CASE("with one replica every stage holds everything", "[physics]") {
  TrainingStateBytes::Inputs<double> in{.params = 1 * u::Gparam,
                                        .weight_bytes = 2 * u::B / u::param,
                                        .gradient_bytes = 4 * u::B / u::param,
                                        .optimizer_bytes = 8 * u::B / u::param};
  for (int stage = 0; stage < 4; ++stage) {
    in.zero_stage = stage;
    CHECK_THAT(TrainingStateBytes::solve(in).total.in(u::GB), WithinRel(14.0, 1e-14));
  }
}

TEST_CASE("mixed precision with Adam holds 16 bytes per parameter", "[physics]") {
  const auto r = MixedPrecisionAdam::solve({.params = 8.03 * u::Gparam});
  CHECK_THAT(r.total.in(u::GB), WithinRel(128.48, 1e-14));
  CHECK_THAT(r.weights.in(u::GB), WithinRel(16.06, 1e-14));
  CHECK_THAT(r.optimizer_states.in(u::GB), WithinRel(96.36, 1e-14));
}
