#include "samples.hpp"

#include <mlsysim/resolver_api/solve_for.hpp>

#include "support/catch.hpp"

using namespace mlsysim;
using namespace mlsysim::literals;

namespace {

struct Sharded {
  static constexpr LawInfo info{
      .id = "Sharded", .equation = "time = weights / (devices * hbm)", .source = "test"};
  template <class T> struct Inputs {
    Data<T> weights;
    Bandwidth<T> hbm;
    T devices;
    static constexpr auto fields() {
      return rows(field(&Inputs::weights, key::weights).positive(), field(&Inputs::hbm, key::hbm).positive(),
                  field(&Inputs::devices, key::devices).within(1, 64).counted());
    }
  };
  template <class T> struct Result {
    Time<T> time;
    MLSYSIM_FIELDS(Result, time)
  };
  template <class T> static Result<T> solve(const Inputs<T>& in) {
    return {in.weights / (in.hbm * in.devices)};
  }
};

/// The same, as a model that is no law.
struct PlainSharded : Model<PlainSharded> {
  using Inputs = Sharded::Inputs<double>;
  using Result = Sharded::Result<double>;
  Result solve(const Inputs& in) const { return Sharded::solve(in); }
};

const Sharded::Inputs<double> start{140_GB, 1 * unit::TB / unit::s, 4};

}  // namespace

TEST_CASE("a law is inverted without a line of code", "[resolve]") {
  const auto found = solve_for(Sharded{}, start, "hbm", equals("time", 10 * unit::ms));
  REQUIRE(found);
  CHECK_THAT(found->value.in("TB/s"), WithinRel(3.5, 1e-9));
  CHECK_THAT(found->result.time.in(unit::ms), WithinRel(10.0, 1e-9));
  CHECK(found->inputs.devices == 4);
  CHECK(found->verification.passed());
  CHECK(found->inversion.method == Method::exact);
}

TEST_CASE("a model that is no law is inverted by differences", "[resolve]") {
  const auto found = solve_for(PlainSharded{}, start, "hbm", equals("time", 10 * unit::ms));
  REQUIRE(found);
  CHECK_THAT(found->value.in("TB/s"), WithinRel(3.5, 1e-6));
  CHECK(found->inversion.method != Method::exact);
}

TEST_CASE("counts: n meets, one less does not", "[resolve]") {
  const auto found = solve_for(Sharded{}, start, "devices", at_most("time", 50 * unit::ms));
  REQUIRE(found);
  CHECK(found->inputs.devices == 3);
  CHECK(found->verification.checks.at(0).kind() == CheckKind::integer_threshold);
  CHECK(found->verification.passed());
  // The other way round the answer is the largest count that will do.
  const auto slow = solve_for(Sharded{}, start, "devices", at_least("time", 30 * unit::ms));
  REQUIRE(slow);
  CHECK(slow->inputs.devices == 4);
  CHECK(slow->verification.passed());
}

TEST_CASE("no solution is an answer that says what can be reached", "[resolve]") {
  const auto none = solve_for(Sharded{}, start, "devices", at_most("time", 1 * unit::ms));
  REQUIRE_FALSE(none);
  CHECK_THAT(none.why()->reason,
             ContainsSubstring("there is no devices at which time of Sharded is at most 1 ms"));
  CHECK_THAT(none.why()->smallest_change, ContainsSubstring("2.1875 ms"));
}

TEST_CASE("mistakes in the question are errors", "[resolve]") {
  CHECK_THROWS_WITH(solve_for(Sharded{}, start, "hmb", equals("time", 1 * unit::ms)),
                    ContainsSubstring("did you mean 'hbm'?"));
  CHECK_THROWS_AS(solve_for(Sharded{}, start, "hbm", equals("tim", 1 * unit::ms)), LookupError);
  CHECK_THROWS_AS(solve_for(Sharded{}, start, "hbm", equals("time", 1 * unit::GB)), DimensionError);
}
