// Uncertain figures against closed forms.

#include "sample_problems.hpp"

#include <support/catch.hpp>

#include <mlsysim/explore/ask/uncertainty.hpp>

#include <algorithm>
#include <cmath>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {

Subject ring_subject(double bandwidth = 400e9) {
  const auto law = ResolverRegistry::standard().share("RingAllReduce");
  Record in(*law, Side::inputs);
  in.set("message", 1.0 * unit::GB)
      .set("ranks", 8.0)
      .set("bandwidth", bandwidth * unit::B / unit::s)
      .set("alpha", 50.0 * unit::us);
  return subject_of(law, in.data());
}

UncertaintyQuestion question(std::initializer_list<const char*> figures) {
  UncertaintyQuestion q;
  for (const char* f : figures) q.figures.push_back(UncertainFigure::parse(f));
  q.results = {"time"};
  return q;
}

}  // namespace

TEST_CASE("a sum of uniform figures has the variance and the shares of its terms", "[explore][uncertainty]") {
  // time = 2 (n - 1) (message / (n bandwidth) + alpha), n = 8: additive in message and alpha.
  auto q = question({"message = uniform 0.5 GB..1.5 GB", "alpha = uniform 0 us..100 us"});
  q.samples = 8192;
  const auto r = uncertainty(ring_subject(), q);
  const auto& x = r.results.at(0);
  const double by_message = 14 * (1e9 / (8 * 400e9)) / std::sqrt(12.0),
               by_alpha = 14 * 100e-6 / std::sqrt(12.0);
  const double variance = by_message * by_message + by_alpha * by_alpha;
  CHECK(x.sd == Approx(std::sqrt(variance)).epsilon(2e-3));
  CHECK(x.linear_sd == Approx(std::sqrt(variance)).epsilon(1e-9));
  CHECK(x.mean == Approx(x.value).epsilon(1e-3));
  CHECK(x.first[0] == Approx(by_message * by_message / variance).margin(0.01));
  CHECK(x.total[0] == Approx(by_message * by_message / variance).margin(0.01));
  CHECK(x.first[0] + x.first[1] == Approx(1).margin(0.02));
  // Monotone and each figure once: the outer bounds are the corners.
  REQUIRE(x.bound_low);
  CHECK(*x.bound_low == Approx(14 * (0.5e9 / (8 * 400e9))).epsilon(1e-6));
  CHECK(*x.bound_high == Approx(14 * (1.5e9 / (8 * 400e9) + 100e-6)).epsilon(1e-6));
  CHECK(*x.bound_low <= x.low);
  CHECK(*x.bound_high >= x.high);
}

TEST_CASE("a lognormal bandwidth makes a lognormal time", "[explore][uncertainty]") {
  auto q = question({"bandwidth = lognormal 30 %"});
  q.samples = 16384;
  auto subject = ring_subject();
  subject.point[subject.input("alpha")] = 0;
  const auto r = uncertainty(subject, q);
  const auto& x = r.results[0];
  CHECK(x.median == Approx(x.value).epsilon(2e-3));
  CHECK(x.mean == Approx(x.value * std::exp(0.045)).epsilon(3e-3));
  CHECK(x.high == Approx(x.value * std::exp(0.3 * 1.6448536)).epsilon(5e-3));
  CHECK_FALSE(x.bound_low);
  CHECK(x.total[0] == Approx(1).margin(0.03));
}

TEST_CASE("same seed, same bytes; another seed, other draws", "[explore][uncertainty]") {
  auto q = question({"bandwidth = normal 10 %", "alpha = triangular 1 us..200 us"});
  const auto a = uncertainty(ring_subject(), q), b = uncertainty(ring_subject(), q);
  CHECK(a.results[0].sd == b.results[0].sd);
  q.seed = 2;
  const auto c = uncertainty(ring_subject(), q);
  CHECK(a.results[0].sd != c.results[0].sd);
  CHECK(a.results[0].sd == Approx(c.results[0].sd).epsilon(0.03));
}

TEST_CASE("processes that share the samples answer as one", "[explore][uncertainty]") {
  const auto subject = ring_subject(), other = ring_subject(440e9);
  auto q = question({"bandwidth = normal 10 %", "alpha = triangular 1 us..200 us"});
  q.samples = 1003;
  const auto one = uncertainty(subject, q);
  const auto order = rank(subject, other, "time", q);
  for (const std::uint64_t parts : {2u, 3u, 7u}) {
    // The last part first, so that the numbers of all are there when the first one asks for them.
    std::vector<double> behind;
    for (std::uint64_t part = parts; part >= 1; --part) {
      q.shared = {part, parts, [&](std::vector<double> own) {
                    own.insert(own.end(), behind.begin(), behind.end());
                    return behind = own;
                  }};
      const auto r = uncertainty(subject, q);
      CHECK(r.results.empty() == (part != 1));
      if (part != 1) continue;
      CHECK(r.results[0].mean == one.results[0].mean);
      CHECK(r.results[0].low == one.results[0].low);
      CHECK(r.results[0].first == one.results[0].first);
      CHECK(r.results[0].total == one.results[0].total);
      CHECK(r.evaluations == one.evaluations);
    }
    behind.clear();
    for (std::uint64_t part = parts; part >= 1; --part) {
      q.shared.part = part;
      const auto r = rank(subject, other, "time", q);
      if (part == 1) CHECK((r.below == order.below && r.flips == order.flips));
    }
  }
}

TEST_CASE("rankings and bottlenecks flip as often as they should", "[explore][uncertainty]") {
  // The same distribution on both sides of 400 and 440 GB/s, moving together: one is always faster.
  const auto q = question({"bandwidth = +-20 %"});
  CHECK(probability_below(ring_subject(440e9), ring_subject(400e9), "time", q) == 1);
  CHECK(probability_below(ring_subject(400e9), ring_subject(440e9), "time", q) == 0);
  auto s = scenario("Llama3_70B", "H100", 8, Mode::serve, 16);
  UncertaintyQuestion small;
  small.figures = {UncertainFigure::parse("hardware.efficiency.memory = +-1 %")};
  small.results = {"itl", "cost_per_token"};
  small.estimates = false;
  const auto r = uncertainty(subject_of(s), small);
  CHECK(r.bottleneck == "decode_prompts");  // 16 prompts of 2,048 tokens in the time of 128 steps
  CHECK(r.flips == 0);
  CHECK(r.results[0].total[0] == Approx(1).margin(0.03));
}

TEST_CASE("figures of the zoo with a range bring it, and the answer says so", "[explore][uncertainty]") {
  const auto s = scenario("Llama3_70B", "H100", 8, Mode::serve, 16);
  const auto subject = subject_of(s);
  const auto behind = subject.estimates();
  const auto find = [&](std::string_view input) {
    const auto at = std::find_if(behind.begin(), behind.end(),
                                 [&](const EstimatedFigure& e) { return e.input == input; });
    return at == behind.end() ? nullptr : &*at;
  };
  // The price of the device is a figure of its own entry; fragmentation is a default of the library.
  const auto* price = find("unit_cost");
  REQUIRE(price != nullptr);
  CHECK(price->figure == "H100 unit_cost");
  CHECK(price->low == Approx(25000));
  const auto* fragmentation = find("conventions.memory_fragmentation");
  REQUIRE(fragmentation != nullptr);
  CHECK(fragmentation->figure == "default.memory_fragmentation");
  const Figure* figure = standard_zoo().scalar("default.memory_fragmentation").entry->figure("value");
  REQUIRE((figure != nullptr && figure->low && figure->high));
  CHECK(fragmentation->low == Approx(*figure->low));
  CHECK(fragmentation->high == Approx(*figure->high));
  UncertaintyQuestion q;
  q.results = {"itl", "cost_per_token"};
  q.samples = 256;
  const auto r = uncertainty(subject, q);
  CHECK(std::find(r.figures.begin(), r.figures.end(), "unit_cost") != r.figures.end());
  CHECK(std::find(r.figures.begin(), r.figures.end(), "conventions.memory_fragmentation") ==
        r.figures.end());  // moves neither result
  const auto said = std::find_if(r.assumptions.begin(), r.assumptions.end(),
                                 [](const Assumption& a) { return a.name == "unit_cost"; });
  REQUIRE(said != r.assumptions.end());
  CHECK_THAT(said->value.str(), ContainsSubstring("triangular"));
  CHECK_THAT(said->source.str(), ContainsSubstring("H100 unit_cost"));
  CHECK(r.results[0].low < r.results[0].high);
  // What the question says wins, and estimates can be left out.
  q.figures = {UncertainFigure::parse("unit_cost = +-1 %")};
  CHECK(uncertainty(subject, q).figures.front() == "unit_cost");
  q.estimates = false;
  CHECK(uncertainty(subject, q).figures == std::vector<std::string>{"unit_cost"});
}

TEST_CASE("a ranking flips as often as two independent figures cross", "[explore][uncertainty]") {
  // Both uniform on +-20 %, moving together: never. The given order is the one that holds.
  const auto q = question({"bandwidth = +-20 %"});
  const auto r = rank(ring_subject(440e9), ring_subject(400e9), "time", q);
  CHECK(r.below == 1);
  CHECK(r.flips == 0);
  CHECK(r.value < r.other_value);
  // Equal subjects, one with another latency that is uncertain in one direction for one of them only.
  auto slow = ring_subject();
  slow.point[slow.input("alpha")] = 60e-6;
  auto u = question({"alpha = uniform 40 us..80 us"});
  const auto same = rank(ring_subject(), slow, "time", u);
  CHECK(same.flips == 0);  // absolute draws are the same on both sides: ties, never another order
  CHECK(same.below == 0);
}

TEST_CASE("distributions that are none are refused", "[explore][uncertainty]") {
  for (const char* bad :
       {"bandwidth", "bandwidth = ", "bandwidth = normal", "bandwidth = gauss 5 %", "bandwidth = uniform 5 %",
        "bandwidth = uniform 2 s..1 s", "bandwidth = uniform 1 s..10 %", "bandwidth = +-5 GB/s",
        "bandwidth = normal -5 %"}) {
    INFO(bad);
    CHECK_THROWS_AS(UncertainFigure::parse(bad), Error);
  }
  const auto s = ring_subject();
  CHECK_THROWS_AS(uncertainty(s, question({})), InputError);
  CHECK_THROWS_AS(uncertainty(s, question({"bandwidth = uniform 1 s..2 s"})), DimensionError);
  CHECK_THROWS_AS(uncertainty(s, question({"bandwith = +-5 %"})), LookupError);
  CHECK_THROWS_AS(uncertainty(s, question({"bandwidth = +-5 %", "bandwidth = +-6 %"})), InputError);
  CHECK_THROWS_AS(uncertainty(s, question({"ranks = uniform -8..-4"})), SolverError);
  auto q = question({"bandwidth = +-5 %"});
  q.samples = 3;
  CHECK_THROWS_AS(uncertainty(s, q), InputError);
}
