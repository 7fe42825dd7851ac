#include "sample_laws.hpp"

#include <mlsysim/reflect/lift.hpp>
#include <mlsysim/tape/law_tools.hpp>
#include <mlsysim/units/unit.hpp>

#include "support/catch.hpp"

using namespace mlsysim;
using sample::Roofline;

namespace {
const Roofline::Inputs<double> kIn{.work = 1 * unit::PFLOP,
                                   .traffic = 1 * unit::TB,
                                   .peak = 1 * unit::PFLOP / unit::s,
                                   .bandwidth = 2 * unit::TB / unit::s};
}  // namespace

TEST_CASE("tools take a law's own structs", "[tape]") {
  CHECK(evaluate<Roofline>(kIn).time.in(unit::ms) == Approx(1000).epsilon(1e-15));
  CHECK(*gradient<Roofline>(kIn).elasticity(0, 0) == Approx(1.0));
  const auto r = solve_for<Roofline>(kIn, "bandwidth", goal::equals("time", 4 * unit::s));
  REQUIRE(r.outcome == InverseOutcome::unique);
  CHECK(r.solutions[0].low == Approx(2.5e11).epsilon(1e-12));
  const std::vector<Interval> box{{1e15, 3e15}, 1e12, 1e15, 2e12};
  CHECK(bound<Roofline>(box).results[0].high == 3.0);
  CHECK(bound<Roofline>(box).results[0].low == 1.0);
  CHECK(derive<Roofline>(kIn, {"Roofline"}).records[0].roots.size() == 1);
  const std::vector<double> work{1e15, 2e15};
  CHECK(batch<Roofline>(std::vector<Column>{work, 1e12, 1e15, 1e12}, 2).columns[0][1] == 2.0);
  CHECK(from_numbers<Roofline::Inputs<double>>(numbers_of(kIn)).bandwidth == kIn.bandwidth);
}

TEST_CASE("the checked entry refuses what the law would swallow", "[tape]") {
  auto bad = kIn;
  bad.peak = ComputeRate<>::from_base(0);
  CHECK_THROWS_WITH(evaluate_checked<Roofline>(bad),
                    ContainsSubstring("'peak'") && ContainsSubstring("more than 0"));
  bad.peak = ComputeRate<>::from_base(std::nan(""));
  CHECK_THROWS_AS(evaluate_checked<Roofline>(bad), DomainError);
  CHECK(evaluate_checked<Roofline>(kIn).time == evaluate<Roofline>(kIn).time);
}

TEST_CASE("a goal in another dimension, or on an unknown result, is refused", "[tape]") {
  CHECK_THROWS_AS(solve_for<Roofline>(kIn, "bandwidth", goal::equals("time", 4 * unit::GB)), DimensionError);
  CHECK_THROWS_AS(solve_for<Roofline>(kIn, "bandwith", goal::equals("time", 4 * unit::s)), LookupError);
}

TEST_CASE("lift keeps numbers and leaf_count counts through nested tables", "[tape]") {
  CHECK(leaf_count<sample::TiledStep::Inputs<double>> == 6);
  CHECK(lift<Recorded>(kIn).work.base().value == 1e15);
  CHECK(lift<Recorded>(kIn).bandwidth.base().is_constant());
}
