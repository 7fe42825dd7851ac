#include "sample_entries.hpp"

#include <mlsysim/tape/invert.hpp>
#include <mlsysim/units/error.hpp>

#include "support/catch.hpp"

#include <cmath>

using namespace mlsysim;
using sample::law;

namespace {
const std::vector<double> kPoint{1e15, 1e12, 1e15, 1e12};  // roofline at its ridge: 1 s both ways
}  // namespace

TEST_CASE("a unique root is found to the last digits", "[tape]") {
  const auto r = invert(law(0), kPoint, {.free = 0, .result = 0, .target = 2.5});
  REQUIRE(r.outcome == InverseOutcome::unique);
  CHECK(r.solutions[0].low == Approx(2.5e15).epsilon(1e-13));
  CHECK(r.solutions[0].residual < 1e-13);
  CHECK(r.method == Method::exact);
  CHECK(r.evaluations < 1500);
}

TEST_CASE("a target that nothing reaches is an answer, with what is reachable", "[tape]") {
  const auto r = invert(law(0), kPoint, {.free = 0, .result = 0, .target = 0.5});
  CHECK(r.outcome == InverseOutcome::none);
  CHECK(r.reachable_low == 1.0);  // the traffic alone takes that long
  CHECK(r.reachable_high > 1e5);
  CHECK(r.exhaustive);  // intervals exclude the target everywhere
}

TEST_CASE("a plateau at the target is one solution with its extent", "[tape]") {
  const auto r = invert(law(0), kPoint, {.free = 0, .result = 0, .target = 1.0, .low = 1e12, .high = 1e18});
  REQUIRE(r.outcome == InverseOutcome::unique);
  CHECK(r.solutions[0].low == 1e12);
  CHECK(r.solutions[0].high == Approx(1e15).epsilon(1e-12));
  const auto flat =
      invert(law(0), kPoint, {.free = 0, .result = 0, .target = 1.0, .low = 1e12, .high = 1e14});
  CHECK(flat.outcome == InverseOutcome::everywhere);
}

TEST_CASE("limits give the range that meets them", "[tape]") {
  const auto r = invert(
      law(0), kPoint,
      {.free = 3, .result = 0, .relation = Relation::at_most, .target = 4.0, .low = 1e9, .high = 1e13});
  REQUIRE(r.outcome == InverseOutcome::unique);
  CHECK(r.solutions[0].low == Approx(2.5e11).epsilon(1e-12));
  CHECK(r.solutions[0].high == 1e13);
  CHECK(r.solutions[0].value <= 4.0);
  const auto none =
      invert(law(0), kPoint, {.free = 3, .result = 0, .relation = Relation::at_most, .target = 0.9});
  CHECK(none.outcome == InverseOutcome::none);
  const auto all =
      invert(law(0), kPoint, {.free = 3, .result = 0, .relation = Relation::at_least, .target = 1.0});
  CHECK(all.outcome == InverseOutcome::everywhere);
}

TEST_CASE("several roots of a law that is not monotone are all listed", "[tape]") {
  // Offloading: more capacity helps, more weights cost; time over capacity is flat, then steep, then flat.
  const std::vector<double> at{8e10, 4e10, 2e12, 5e10};
  const auto up = invert(law(1), at, {.free = 1, .result = 1, .target = 0.5});
  REQUIRE(up.outcome == InverseOutcome::unique);
  CHECK(up.solutions[0].low == Approx(8e10 - 2.5e10).epsilon(1e-12));

  // imbalance = |load - round(load)| of TiledStep rises and falls with the number of cores: many ranges.
  const std::vector<double> tiles{8192, 8192, 100, 1e-6, 1e15, 1e12};
  const auto many =
      invert(law(4), tiles,
             {.free = 2, .result = 2, .relation = Relation::at_most, .target = 0.1, .low = 1, .high = 4000});
  CHECK(many.outcome == InverseOutcome::several);
  CHECK(many.exhaustive);
  // Of more counts than are tried one by one some may be missed where nothing is proven, and the answer says
  // so.
  const std::vector<double> small{8192e4, 8192e4, 100, 1e-6, 1e15, 1e12};
  CHECK_FALSE(
      invert(law(4), small,
             {.free = 2, .result = 2, .relation = Relation::at_most, .target = 0.1, .low = 1, .high = 1e6})
          .exhaustive);
  for (std::size_t i = 1; i < many.solutions.size(); ++i)
    CHECK(many.solutions[i - 1].high < many.solutions[i].low);
}

TEST_CASE("a count is answered with the neighbour that does not meet the target", "[tape]") {
  const std::vector<double> at{20, 1};
  const auto r =
      invert(law(3), at, {.free = 1, .result = 1, .relation = Relation::at_most, .target = 0.05, .low = 21});
  REQUIRE(r.outcome == InverseOutcome::unique);
  const double n = r.solutions[0].low;
  CHECK(n == std::round(n));
  CHECK(r.solutions[0].value <= 0.05);
  REQUIRE(r.solutions[0].neighbour_low.has_value());
  CHECK(*r.solutions[0].neighbour_low > 0.05);
  CHECK(law(3)(std::vector<double>{20, n})[1] == r.solutions[0].value);
  CHECK(r.exhaustive);
  CHECK_FALSE(r.solutions[0].neighbour_high.has_value());
}

TEST_CASE("equality that a count jumps over is no solution but is shown", "[tape]") {
  const double between =
      0.5 * (law(3)(std::vector<double>{20, 25})[0] + law(3)(std::vector<double>{20, 26})[0]);
  const auto r = invert(law(3), std::vector<double>{20, 1}, {.free = 1, .result = 0, .target = between});
  CHECK(r.outcome == InverseOutcome::none);
  REQUIRE(r.solutions.size() == 1);
  CHECK(r.solutions[0].jump);
  CHECK(r.solutions[0].low == 25.0);
  CHECK(r.solutions[0].high == 26.0);
}

TEST_CASE("a jump of a continuous input is told from a root", "[tape]") {
  // Waves are whole numbers: 2.5 of them never happen. Rows are searched as if they were no count.
  LawEntry rows = law(4);
  rows.inputs[0].integral = false;
  const std::vector<double> at{256, 256, 4, 1e-5, 1e15, 1e12};
  const auto r = invert(rows, at, {.free = 0, .result = 1, .target = 2.5, .low = 1, .high = 4096});
  CHECK(r.outcome == InverseOutcome::none);
  REQUIRE(r.solutions.size() == 1);
  CHECK(r.solutions[0].jump);
  CHECK(r.solutions[0].low == Approx(256).epsilon(1e-12));
}

TEST_CASE("questions that are malformed are refused", "[tape]") {
  CHECK_THROWS_AS(invert(law(0), kPoint, {.free = 9, .result = 0, .target = 1}), InputError);
  CHECK_THROWS_AS(invert(law(0), kPoint, {.free = 0, .result = 0, .target = std::nan("")}), InputError);
  CHECK_THROWS_WITH(invert(law(0), kPoint, {.free = 0, .result = 0, .target = 1, .low = 5, .high = 2}),
                    ContainsSubstring("nothing to search for 'work'"));
}
