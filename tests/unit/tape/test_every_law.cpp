// Every tool on every sample law: what must hold whatever the law says.
#include "sample_entries.hpp"

#include <mlsysim/tape/batch.hpp>
#include <mlsysim/tape/bound.hpp>
#include <mlsysim/tape/derivation.hpp>
#include <mlsysim/tape/gradient.hpp>
#include <mlsysim/tape/invert.hpp>
#include <mlsysim/tape/tape.hpp>

#include "support/catch.hpp"
#include "support/stencil.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

using namespace mlsysim;
using sample::bits;
using sample::cases;
using sample::law;
using sample::point;

TEST_CASE("a batch gives the bytes of the double law for any number of points", "[tape]") {
  for (const auto& c : cases()) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{255},
                                std::size_t{256}, std::size_t{613}}) {
      std::vector<std::vector<double>> columns(c.law->inputs.size(), std::vector<double>(n));
      for (unsigned p = 0; p < n; ++p) {
        const auto at = point(c, p);
        for (std::size_t i = 0; i < at.size(); ++i) columns[i][p] = at[i];
      }
      const auto found = batch(*c.law, std::vector<Column>(columns.begin(), columns.end()), n);
      CHECK(found.method == Method::exact);
      for (unsigned p = 0; p < n; ++p) {
        const auto one = (*c.law)(point(c, p));
        for (std::size_t r = 0; r < one.size(); ++r)
          if (bits(found.columns[r][p]) != bits(one[r])) {
            CAPTURE(c.law->info.id, p, r, found.columns[r][p], one[r]);
            FAIL_CHECK("batch and double differ");
          }
      }
    }
  }
}

TEST_CASE("values of all tools agree with double", "[tape]") {
  for (const auto& c : cases())
    for (unsigned p = 0; p < 40; ++p) {
      const auto at = point(c, p);
      const auto value = (*c.law)(at);
      const auto slope = gradient(*c.law, at);
      const auto traced = derive(*c.law, at);
      const std::string open[] = {std::string(c.law->info.id)};
      const auto opened = derive(*c.law, at, open);
      const auto range = bound(*c.law, std::vector<Interval>(at.begin(), at.end()));
      const auto found = c.law->tape()(at);
      for (std::size_t r = 0; r < value.size(); ++r) {
        CAPTURE(c.law->info.id, p, r);
        CHECK(bits(slope.values[r]) == bits(value[r]));
        CHECK(bits(found[r]) == bits(value[r]));
        CHECK(bits(traced.records[0].results[r].value) == bits(value[r]));
        CHECK(bits(opened.records[0].results[r].value) == bits(value[r]));
        CHECK(bits(opened.nodes[opened.records[0].roots[r]].value) == bits(value[r]));
        // Points stay points but for x - x like shapes, which no sample law has.
        CHECK(range.results[r].low == value[r]);
        CHECK(range.results[r].high == value[r]);
      }
    }
}

TEST_CASE("smooth slopes match differences of sixth order", "[tape]") {
  int compared = 0, smooth = 0;
  for (const auto& c : cases())
    for (unsigned p = 0; p < 20; ++p) {
      const auto at = point(c, p);
      const auto g = gradient(*c.law, at);
      for (std::size_t i = 0; i < at.size(); ++i) {
        const auto slopes = test::sixth_order_slopes(
            [&](double x) {
              auto moved = at;
              moved[i] = x;
              return (*c.law)(moved);
            },
            at[i]);
        for (std::size_t r = 0; r < slopes.size(); ++r) {
          if (g.at(r, i).slope != Slope::smooth) continue;
          ++smooth;
          const double scale = std::max(std::fabs(g.values[r] / at[i]), std::fabs(slopes[r].slope));
          // A kink or step within the stencil: the differences then say nothing about the point.
          if (!(slopes[r].error <= 1e-9 * scale)) continue;
          CAPTURE(c.law->info.id, p, r, i, g.at(r, i).right, slopes[r].slope, slopes[r].error);
          CHECK(std::fabs(g.at(r, i).right - slopes[r].slope) <= 2 * slopes[r].error + 1e-11 * scale);
          ++compared;
        }
      }
    }
  CAPTURE(compared, smooth);
  CHECK(compared > 300);
  CHECK(compared > 0.9 * smooth);
}

TEST_CASE("bounds contain every sampled value of their box", "[tape]") {
  for (const auto& c : cases())
    for (unsigned p = 0; p < 10; ++p) {
      const auto a = point(c, 2 * p), b = point(c, 2 * p + 1);
      std::vector<Interval> box;
      for (std::size_t i = 0; i < a.size(); ++i) box.emplace_back(a[i], b[i]);
      const auto range = bound(*c.law, box);
      CHECK(range.method == Method::exact);
      for (unsigned q = 0; q < 60; ++q) {
        sample::Case inside{c.law, {}, {}, c.counts};
        for (const auto& x : box) {
          inside.low.push_back(x.low);
          inside.high.push_back(x.high);
        }
        const auto value = (*c.law)(point(inside, q));
        for (std::size_t r = 0; r < value.size(); ++r) {
          CAPTURE(c.law->info.id, p, q, r, value[r], range.results[r].low, range.results[r].high);
          CHECK(value[r] >= range.results[r].low - 1e-14 * std::fabs(value[r]));
          CHECK(value[r] <= range.results[r].high + 1e-14 * std::fabs(value[r]));
        }
      }
    }
}

TEST_CASE("inversion finds an input that gives the result back", "[tape]") {
  int asked = 0;
  for (const auto& c : cases())
    for (unsigned p = 0; p < 6; ++p) {
      const auto at = point(c, p);
      const auto value = (*c.law)(at);
      for (std::size_t i = 0; i < at.size(); ++i)
        for (std::size_t r = 0; r < value.size(); ++r) {
          if (value[r] == 0) continue;
          InverseQuery q{
              .free = i, .result = r, .target = value[r], .low = c.low[i] / 2, .high = c.high[i] * 2};
          if (c.counts[i]) q.low = c.low[i];
          if (!c.law->inputs[i].integral && c.law->inputs[i].high < 1e300) q.high = c.high[i];
          const auto found = invert(*c.law, at, q);
          CAPTURE(c.law->info.id, p, i, r, at[i], value[r]);
          REQUIRE(found.outcome != InverseOutcome::undefined);
          REQUIRE(found.outcome != InverseOutcome::none);
          bool near = false;
          for (const auto& s : found.solutions) {
            if (!s.jump) {
              auto there = at;
              there[i] = s.low;
              CHECK((*c.law)(there)[r] == Approx(value[r]).epsilon(1e-9));
            }
            near = near || (at[i] >= s.low * (1 - 1e-6) && at[i] <= s.high * (1 + 1e-6));
          }
          CHECK(near);
          ++asked;
        }
    }
  CHECK(asked > 100);
}

TEST_CASE("a resolver that is not a law works with every tool, and every answer says so", "[tape]") {
  const LawEntry& law = sample::plain_server();
  REQUIRE(law.inputs.size() == 2);
  REQUIRE(law.results.size() == 2);
  const std::vector<double> at{0.5, 0.01};
  const auto g = gradient(law, at);
  CHECK(g.method == Method::central_differences);
  CHECK(g.at(0, 0).right == Approx(0.01 / 0.25).epsilon(1e-8));  // d/dx x/(1-x) = 1/(1-x)^2
  CHECK(*g.elasticity(0, 1) == Approx(1.0).epsilon(1e-8));
  const std::vector<double> loads{0.1, 0.5, 0.9};
  const auto b = batch(law, std::vector<Column>{loads, 0.01}, 3);
  CHECK(b.method == Method::scalar_loop);
  CHECK(b.columns[0][2] == law(std::vector<double>{0.9, 0.01})[0]);
  CHECK(b.columns[1] == std::vector<double>{0, 0, 1});
  const auto range = bound(law, std::vector<Interval>{{0.1, 0.5}, {0.01, 0.02}});
  CHECK(range.method == Method::sampled);
  CHECK(range.results[0].high == Approx(0.02).epsilon(1e-12));
  const auto inv = invert(law, at, {.free = 0, .result = 0, .target = 0.04});
  CHECK(inv.method == Method::central_differences);
  REQUIRE(inv.outcome == InverseOutcome::unique);
  CHECK(inv.solutions[0].low == Approx(0.8).epsilon(1e-10));
  CHECK_THROWS_WITH(derive(law, at), ContainsSubstring("cannot be derived"));
}
