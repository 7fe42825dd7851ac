// Which changed figure makes how much of a difference.

#include "sample_problems.hpp"

#include <support/catch.hpp>

#include <mlsysim/explore/ask/compare.hpp>

#include <cmath>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {
double sum_of(const DifferenceReport& r) {
  double sum = 0;
  for (const auto& t : r.terms) sum += t.part;
  return sum;
}
}  // namespace

TEST_CASE("the parts of a product's change are those of Shapley", "[explore][compare]") {
  // time = traffic / bandwidth from 2/1 to 6/2: alone each change gives +4 and -1; after the other +2 and -3.
  const auto roof = [](double traffic, double bandwidth) {
    const auto law = ResolverRegistry::standard().share("Roofline");
    Record in(*law, Side::inputs);
    in.set("work", 0.0 * unit::FLOP)
        .set("traffic", traffic * unit::B)
        .set("peak", 1.0 * unit::FLOP / unit::s)
        .set("bandwidth", bandwidth * unit::B / unit::s);
    return subject_of(law, in.data());
  };
  const auto r = compare(roof(2, 1), roof(6, 2), "time");
  CHECK(r.exact);
  REQUIRE(r.terms.size() == 2);
  CHECK(r.terms[0].input == "traffic");
  CHECK(r.terms[0].part == Approx(3));
  CHECK(r.terms[1].part == Approx(-2));
  CHECK(r.terms[0].share == Approx(3));
}

TEST_CASE("parts add up to the whole, between devices, formats and plans", "[explore][compare]") {
  auto a = scenario("Llama3_70B", "A100", 8, Mode::serve, 16),
       b = scenario("Llama3_70B", "H200", 8, Mode::serve, 16);
  a.load = b.load = Load::burst;
  a.precision = b.precision = Precision::fp16;
  auto r = compare(subject_of(a), subject_of(b), "itl");
  CHECK(sum_of(r) == Approx(r.at_to - r.at_from).epsilon(1e-9));
  CHECK(r.terms[0].input == "hardware.memory.bandwidth");
  for (std::size_t k = 1; k < r.terms.size(); ++k)
    CHECK(std::fabs(r.terms[k - 1].part) >= std::fabs(r.terms[k].part));

  auto train = scenario("Llama3_8B", "H100", 64, Mode::train, 256), full = train;
  full.recomputation = Recomputation::full;
  full.tp_size = 4;
  r = compare(subject_of(train), subject_of(full), "step_latency");
  CHECK(sum_of(r) == Approx(r.at_to - r.at_from).epsilon(1e-9));
  CHECK(std::any_of(r.terms.begin(), r.terms.end(),
                    [](const DifferenceTerm& t) { return t.input == "structure"; }));
  CHECK(r.terms.size() == 2);
}

TEST_CASE("devices differ by their figures at textbook fidelity, too", "[explore][compare]") {
  auto a = scenario("Llama3_70B", "H100", 8, Mode::serve, 1),
       b = scenario("Llama3_70B", "H200", 8, Mode::serve, 1);
  a.fidelity = b.fidelity = Fidelity::textbook;
  const auto r = compare(subject_of(a), subject_of(b), "itl");
  CHECK(sum_of(r) == Approx(r.at_to - r.at_from).epsilon(1e-9));
  CHECK(r.terms[0].input == "hardware.memory.bandwidth");
  CHECK(r.terms[0].share > 0.9);
}

TEST_CASE("nothing differs, nothing to tell; different things are not compared", "[explore][compare]") {
  const auto a = subject_of(scenario("Llama3_8B", "H100", 1, Mode::serve, 1));
  const auto r = compare(a, a, "itl");
  CHECK(r.at_from == r.at_to);
  CHECK(sum_of(r) == 0);
  const auto law = ResolverRegistry::standard().share("Roofline");
  Record in(*law, Side::inputs);
  in.set("work", 1.0 * unit::FLOP)
      .set("traffic", 1.0 * unit::B)
      .set("peak", 1.0 * unit::FLOP / unit::s)
      .set("bandwidth", 1.0 * unit::B / unit::s);
  CHECK_THROWS_AS(compare(a, subject_of(law, in.data()), "itl"), InputError);
  CHECK_THROWS_AS(compare(a, a, "nothing"), LookupError);
}
