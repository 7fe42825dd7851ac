#include "support/catch.hpp"

#include <mlsysim/physics/pipeline_bubble.hpp>

using namespace mlsysim;

TEST_CASE("bubble fractions of worked pipelines", "[physics]") {
  // (p - 1) / (v m + p - 1): 3/19, 3/35, 7/15
  const auto fraction = [](double p, double m, double v) {
    return BubbleFraction::solve({.pp_size = p, .microbatch_count = m, .v_stages = v}).bubble_fraction;
  };
  CHECK_THAT(fraction(4, 16, 1), WithinRel(0.157895, 3e-6));
  CHECK_THAT(fraction(4, 16, 2), WithinRel(0.0857143, 1e-6));
  CHECK_THAT(fraction(8, 8, 1), WithinRel(7.0 / 15.0, 1e-14));
  CHECK(fraction(1, 16, 1) == 0.0);
}

TEST_CASE("overhead over ideal time and share of the step describe one bubble", "[physics]") {
  // A step of ideal time 1 lasts 1 + overhead, of which the fraction is idle.
  const BubbleOverhead::Inputs<double> in{.pp_size = 6, .microbatch_count = 10, .v_stages = 3};
  const double overhead = BubbleOverhead::solve(in).bubble_overhead;
  CHECK_THAT(overhead, WithinRel(5.0 / 30.0, 1e-15));
  CHECK_THAT(BubbleFraction::solve(in).bubble_fraction * (1.0 + overhead), WithinRel(overhead, 1e-14));
}

TEST_CASE("without interleaving there is one chunk per device", "[physics]") {
  CHECK_THAT(BubbleOverhead::solve({.pp_size = 4, .microbatch_count = 16}).bubble_overhead,
             WithinRel(3.0 / 16.0, 1e-15));
}
