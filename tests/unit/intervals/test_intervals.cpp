// Bands read from groups of residuals: worked by hand, and held to the level on data that are made to be
// alike.
#include "support/catch.hpp"

#include <mlsysim/intervals/model_error.hpp>

#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/unit.hpp>

#include <algorithm>
#include <cmath>
#include <random>

namespace mlsysim {
namespace {

ErrorSubject subject(std::string device, std::string generation, std::string origin, std::string family) {
  return {"step_latency", std::move(device), std::move(generation), std::move(origin), std::move(family)};
}

ResidualGroup group(ErrorSubject s, std::vector<double> residuals) {
  return {.subject = std::move(s), .table = "t", .rows = residuals.size(), .residuals = std::move(residuals)};
}

TEST_CASE("the distance counts device, generation, source and model", "[intervals]") {
  const auto a = subject("H100", "hopper", "vllm", "m");
  CHECK(error_distance(a, a) == 0U);
  CHECK(error_distance(a, subject("H200", "hopper", "vllm", "m")) == 1U);
  CHECK(error_distance(a, subject("B200", "blackwell", "vllm", "m")) == 2U);
  CHECK(error_distance(a, subject("B200", "blackwell", "sglang", "n")) == 5U);
  // What is not known is as far as can be: two unknown devices are not the same one.
  CHECK(error_distance(subject("", "", "", ""), subject("", "", "", "")) == 5U);
  // Another release of the same software is nearer than another engine.
  auto old = subject("H100", "hopper", "vllm@0.11", "m"), next = subject("H100", "hopper", "vllm@0.12", "m");
  old.software = next.software = "vllm";
  CHECK(error_distance(old, next) == 1U);
  next.software = "sglang";
  CHECK(error_distance(old, next) == 2U);
  // So are other links, and a device of which nobody measured a kernel.
  auto far = subject("B200", "blackwell", "sglang", "n");
  far.link = "host bus";
  far.measured = false;
  CHECK(error_distance(a, far) == kFarthestGroup);
}

TEST_CASE("a release is a variant of what it is called after", "[intervals]") {
  const ServingEngine base{.name = "vllm"}, generic{.name = "generic"};
  ServingEngine release{.name = "vllm@0.12"};
  release.extends = &base;
  ErrorSubject about;
  note_engine(about, release);
  CHECK(about.origin == "vllm@0.12");
  CHECK(about.software == "vllm");
  ServingEngine other{.name = "sglang"};
  other.extends = &generic;
  note_engine(about, other);
  CHECK(about.software == "sglang");
}

TEST_CASE("links between devices are of three kinds", "[intervals]") {
  HardwareNode device{.name = "d"};
  Node node{.name = "n"};
  node.accelerators_per_node = 4;
  CHECK(link_kind(device, &node, 1).empty());
  CHECK(link_kind(device, &node, 4) == "host bus");
  device.device_link.bandwidth = 450 * (unit::GB / unit::s);
  CHECK(link_kind(device, &node, 4) == "device link");
  node.intra_node_topology = "pcie";
  CHECK(link_kind(device, &node, 4) == "host bus");
  CHECK(link_kind(device, &node, 8) == "network");
  node.domain_accelerators = 64;
  CHECK(link_kind(device, &node, 8) == "host bus");
}

TEST_CASE("a device that nobody measured has the band of devices without figures of their own",
          "[intervals]") {
  std::vector<ResidualGroup> groups;
  for (int i = 0; i < 10; ++i) {
    auto own = group(subject("d" + std::to_string(i), "", "s", "m"), {-0.02, -0.01, 0.01, 0.02});
    auto again = group(own.subject, {-0.4, -0.3, 0.3, 0.4});
    again.subject.measured = false;
    again.unmeasured = true;
    groups.push_back(std::move(own));
    groups.push_back(std::move(again));
  }
  const ErrorBook book(std::move(groups));
  auto asked = subject("new", "", "s", "m");
  CHECK(book.band(asked, 80)->high < 1.1);
  asked.measured = false;
  CHECK(book.band(asked, 80)->high > 1.4);
  // Neither is counted as coverage of the other.
  REQUIRE(book.coverage().size() == 1U);
  CHECK(book.coverage()[0].groups == 10U);
  CHECK(as_of_its_class(HardwareNode{.name = "d"}).name == "d");
}

TEST_CASE("one group speaks for half of what is to be expected, and its band holds the prediction",
          "[intervals]") {
  // Ten residuals 0.01 .. 0.10 have half of the weight, 0.05 each, the other half lies outside, a quarter on
  // either side. The lower tail ends at 0.01, beyond the prediction, so that the band reaches from zero to
  // where another 80 % lie: 0.25 + 0.8 is more than there is, the largest. No second group says how much
  // wider it must be: factor 1.
  std::vector<double> r;
  for (int i = 1; i <= 10; ++i) r.push_back(0.01 * i);
  const auto s = subject("H100", "hopper", "vllm", "m");
  const ErrorBook book({group(s, r)});
  const auto band = book.band(s, 80);
  REQUIRE(band);
  CHECK(std::abs(std::log(band->low)) < 1e-12);
  CHECK(std::abs(std::log(band->high) - 0.10) < 1e-12);
  // Half of it: 0.25 lie below zero, another half ends where 0.05 have been added ten times.
  CHECK(std::abs(std::log(book.band(s, 50)->high) - 0.10) < 1e-12);
  CHECK(band->widened == 1);
  CHECK(band->distance == 0U);
  CHECK(band->rows == 10U);
  // A rate falls where the time grows.
  CHECK(std::abs(band->of_rate().low - 1 / band->high) < 1e-12);
}

TEST_CASE("nearer groups have the weight, farther ones what is left", "[intervals]") {
  // Two groups a step away have a third each, the one four steps away half of the last third, and a twelfth
  // lies outside on either side: up to -1 there are 1/12 + 1/6 = 0.25, up to 0.1 0.583, up to 0.2 0.917. The
  // middle half ends at -1 and 0.2, so that the band lies around -0.4 however much wider it is made.
  const auto s = subject("H100", "hopper", "vllm", "m");
  const ErrorBook book({group(subject("H100", "hopper", "vllm", "a"), {0.1}),
                        group(subject("H100", "hopper", "vllm", "b"), {0.2}),
                        group(subject("M1", "apple", "mlx", "c"), {-1.0})});
  const auto band = book.band(s, 50);
  REQUIRE(band);
  CHECK(std::abs((std::log(band->low) + std::log(band->high)) / 2 + 0.4) < 1e-12);
  CHECK(std::abs(std::log(band->high / band->low) - 1.2 * band->widened) < 1e-12);
  CHECK(band->distance == 1U);
  CHECK(band->groups == 2U);
}

TEST_CASE("many groups of one device are one witness of what another device misses", "[intervals]") {
  // Forty groups of one device, all off by 0.2: of another device they say half, so that with half of the
  // weight outside the band reaches to what the farther group missed; forty devices leave it a forty-first.
  std::vector<ResidualGroup> one, many;
  for (int i = 0; i < 40; ++i) {
    const auto n = std::to_string(i);
    one.push_back(group(subject("d", "g", "s", "m" + n), {0.2}));
    many.push_back(group(subject("d" + n, "g", "s", "m" + n), {0.2}));
  }
  for (auto* groups : {&one, &many}) groups->push_back(group(subject("far", "other", "t", "n"), {-1.0}));
  const auto asked = subject("new", "g", "s", "m");
  const auto width = [&](std::vector<ResidualGroup> groups) {
    const auto band = ErrorBook(std::move(groups)).band(asked, 80);
    return std::log(band->high / band->low) / band->widened;
  };
  CHECK(width(std::move(one)) == Approx(1.2));
  CHECK(width(std::move(many)) == Approx(0.2));
}

TEST_CASE("shares of few rows say little", "[intervals]") {
  // Ten rows of which each is held with 0.8: five or fewer are held in 3.3 % of all cases, six or fewer
  // in 12.1 %, nine or fewer in 89.3 %. So 60 to 100 % is what nine in ten show.
  CHECK(binomial_range(10, 0.8).low == 0.6);
  CHECK(binomial_range(10, 0.8).high == 1.0);
  CHECK(binomial_range(1, 0.8).low == 0.0);
  // The normal limit: 0.8 -+ 1.645 sqrt(0.16 / n).
  CHECK(binomial_range(10000, 0.8).low == Approx(0.7934).margin(2e-4));
  CHECK(binomial_range(10000, 0.8).high == Approx(0.8066).margin(2e-4));
}

TEST_CASE("a question that no table measures has no band", "[intervals]") {
  const ErrorBook book({group(subject("H100", "hopper", "vllm", "m"), {0.1})});
  auto other = subject("H100", "hopper", "vllm", "m");
  other.metric = "operational_carbon";
  CHECK_FALSE(book.band(other, 80));
  CHECK_THROWS_AS((void)book.band(other, 90), InputError);
}

/// Groups on two devices whose bias scatters more from device to device (0.3) than from group to group
/// (0.05).
ErrorBook scattered() {
  std::mt19937 random(7);
  std::normal_distribution<double> one;
  std::vector<ResidualGroup> groups;
  for (int device = 0; device < 12; ++device) {
    const double bias = 0.3 * one(random);
    for (int model = 0; model < 8; ++model) {
      const double own = bias + 0.05 * one(random);
      std::vector<double> r;
      for (int row = 0; row < 10; ++row) r.push_back(own + 0.05 * one(random));
      auto g = group(subject("d" + std::to_string(device), "", "s" + std::to_string(device),
                             "m" + std::to_string(model)),
                     thinned(std::move(r)));
      g.table = "t" + std::to_string(device);
      groups.push_back(std::move(g));
    }
  }
  return ErrorBook(std::move(groups));
}

TEST_CASE("the interval grows with the distance from what was measured", "[intervals]") {
  const auto book = scattered();
  const auto width = [&](const ErrorSubject& s) {
    const auto b = book.band(s, 80);
    return std::log(b->high / b->low);
  };
  const double known = width(subject("d0", "", "s0", "another")),
               foreign = width(subject("elsewhere", "", "another", "another"));
  CHECK(foreign > 2 * known);
}

TEST_CASE("errors of one kind of quantity do not widen the bands of another", "[intervals]") {
  // Kernels scatter from group to group as much as within one, training steps ten times as much.
  std::mt19937 random(11);
  std::normal_distribution<double> one;
  std::vector<ResidualGroup> groups;
  for (int i = 0; i < 60; ++i) {
    auto g = group(subject("d", "g", "s", "m" + std::to_string(i)), {});
    const bool kernel = i % 2 == 0;
    if (kernel) g.subject.metric = "matmul";
    const double own = (kernel ? 0.05 : 0.5) * one(random);
    for (int row = 0; row < 10; ++row) g.residuals.push_back(own + 0.05 * one(random));
    g.rows = g.residuals.size();
    std::ranges::sort(g.residuals);
    groups.push_back(std::move(g));
  }
  const ErrorBook book(std::move(groups));
  auto asked = subject("d", "g", "s", "another");
  const auto half = [&] {
    const auto b = book.band(asked, 80);
    return std::log(b->high / b->low) / 2;
  };
  const double training = half();
  asked.metric = "matmul";
  CHECK(half() == Approx(1.28 * std::hypot(0.05, 0.05)).epsilon(0.2));  // of a normal distribution
  CHECK(training == Approx(1.28 * std::hypot(0.5, 0.05)).epsilon(0.25));
  // A group is asked of what is known without it, and rows of ten are held in eight.
  for (const auto& s : book.strata()) CHECK(std::abs(s.group.held - 0.8) < 0.06);
  CHECK(kind_of("matmul") == "kernels");
  CHECK(kind_of("no metric") == "other");
}

TEST_CASE("coverage of groups left out is near the level", "[intervals]") {
  double held[3] = {}, unseen[3] = {}, rows = 0;
  for (const auto& c : scattered().coverage()) {
    for (std::size_t l = 0; l < 3; ++l) {
      held[l] += c.group_out[l] * static_cast<double>(c.rows);
      unseen[l] += c.table_out[l] * static_cast<double>(c.rows);
    }
    rows += static_cast<double>(c.rows);
  }
  for (std::size_t l = 0; l < 3; ++l) {
    CHECK(std::abs(held[l] / rows - kIntervalLevels[l] / 100.0) < 0.06);
    CHECK(std::abs(unseen[l] / rows - kIntervalLevels[l] / 100.0) < 0.15);
  }
}

TEST_CASE("groups read back as they were written", "[intervals]") {
  std::vector<ResidualGroup> groups{group(subject("H100", "hopper", "a \"b\"", "m, n"), {-0.25, 0.125})};
  groups.push_back(groups[0]);
  groups[1].subject.software = "a";
  groups[1].subject.link = "network";
  groups[1].subject.measured = false;
  groups[1].unmeasured = true;
  const auto again = parse_residual_groups(to_csv(groups), "text");
  REQUIRE(again.size() == 2U);
  CHECK(again[0].subject.measured);
  CHECK(again[0].subject.link.empty());
  CHECK_FALSE(again[0].unmeasured);
  CHECK(again[1].subject.software == "a");
  CHECK(again[1].subject.link == "network");
  CHECK_FALSE(again[1].subject.measured);
  CHECK(again[1].unmeasured);
  CHECK(again[0].subject.origin == "a \"b\"");
  CHECK(again[0].subject.family == "m, n");
  CHECK(again[0].rows == 2U);
  CHECK(again[0].residuals == std::vector<double>{-0.25, 0.125});
}

TEST_CASE("a file with faults names each of them", "[intervals]") {
  const std::string text = std::string(kResidualsHead) + "itl,d,g,o,f,t,,,1,yes,many,100 x\n";
  try {
    (void)parse_residual_groups(text, "bad.csv");
    FAIL("it was read");
  } catch (const ErrorList& e) {
    CHECK(e.problems().size() == 3U);  // a flag, rows, a residual
  }
}

TEST_CASE("many residuals are thinned to their quantiles", "[intervals]") {
  std::vector<double> r;
  for (int i = 0; i < 150; ++i) r.push_back(149 - i);
  const auto few = thinned(r);
  REQUIRE(few.size() == kMostResiduals);
  CHECK(few.front() == 5);   // the middle of the first fifteenth
  CHECK(few.back() == 145);  // and of the last
}

TEST_CASE("the groups that ship hold the level, and most tables what their rows allow", "[intervals]") {
  // `mlsysim validate --tables-page` shows the coverage of single tables.
  const auto tables = ErrorBook::standard().coverage();
  REQUIRE(tables.size() > 50U);
  for (std::size_t l = 0; l < kIntervalLevels.size(); ++l) {
    INFO(kIntervalLevels[l]);
    double held = 0, allowed = 0;
    for (const auto& c : tables) {
      INFO(c.table);
      CHECK(c.allowed[l].low <= kIntervalLevels[l] / 100.0);
      CHECK(c.allowed[l].high >= kIntervalLevels[l] / 100.0);
      held += c.group_out[l];
      if (c.group_out[l] > c.allowed[l].low - 0.005 && c.group_out[l] < c.allowed[l].high + 0.005) ++allowed;
    }
    const auto n = static_cast<double>(tables.size());
    CHECK(std::abs(held / n - kIntervalLevels[l] / 100.0) < 0.05);
    CHECK(allowed / n > 0.8);  // nine in ten, if tables were independent and their groups alike
  }
}

TEST_CASE("the groups that ship hold the level in each kind of quantity, whatever is left out",
          "[intervals]") {
  std::size_t cells = 0, inside = 0;
  for (const auto& s : ErrorBook::standard().strata()) {
    if (s.stratum == "memory" || s.stratum == "other") continue;  // of some 40 rows
    for (const auto* kept : {&s.group, &s.device, &s.software, &s.link}) {
      ++cells;
      if (std::abs(kept->held - 0.8) < 0.055) ++inside;
    }
  }
  CHECK(cells == 32U);
  CHECK(inside >= 29U);
}

TEST_CASE("the groups of one metric alone give its bands", "[intervals]") {
  const auto& all = ErrorBook::standard();
  for (const std::string metric : {"itl", "attention", "training of nobody"}) {
    const auto& one = ErrorBook::standard_of(metric);
    std::size_t groups = 0;
    for (const auto& g : all.groups()) {
      if (g.subject.metric != metric) continue;
      ++groups;
      const auto a = all.band(g.subject, 80), b = one.band(g.subject, 80);
      REQUIRE((a && b));
      CHECK(a->low == b->low);
      CHECK(a->high == b->high);
      CHECK(a->basis == b->basis);
    }
    CHECK(one.groups().size() == groups);
  }
}

TEST_CASE("The factors of the shipped residuals are those that their groups give", "[intervals]") {
  const auto factors = read_band_factors();
  auto groups = read_residual_groups();
  const ErrorBook found(std::move(groups));
  CHECK(factors.size() == found.factors().size());
  for (const auto& [kind, of] : found.factors()) {
    INFO(kind);
    REQUIRE(factors.at(kind).size() == kAparts);
    for (std::size_t apart = 0; apart < kAparts; ++apart)
      for (std::size_t l = 0; l < kIntervalLevels.size(); ++l)
        CHECK(factors.at(kind)[apart][l] == Approx(of[apart][l]).epsilon(1e-9));
  }
}

}  // namespace
}  // namespace mlsysim

TEST_CASE("every group of the shipped residuals says what was measured", "[intervals]") {
  for (const auto& g : mlsysim::read_residual_groups()) {
    INFO(g.table);
    CHECK(std::ranges::count(mlsysim::kMeasuredMetrics, g.subject.metric, &mlsysim::MeasuredMetric::key) ==
          1);
    CHECK_FALSE(g.residuals.empty());
  }
}
