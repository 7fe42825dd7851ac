// Laws against their equations, worked by hand.

#include "support/catch.hpp"

#include <mlsysim/request_trace/laws.hpp>

#include <cmath>

using namespace mlsysim;

namespace {

double below(TrafficLaw law, double first, double second, double x) {
  return law_share_below({law, first, second, 0}, x);
}

}  // namespace

TEST_CASE("distribution functions of the laws", "[traffic]") {
  for (const double x : {0.1, 1.0, 3.0, 20.0}) {
    CHECK(below(TrafficLaw::exponential, 2, 0, x) == Approx(1 - std::exp(-x / 2)).epsilon(1e-13));
    // Shape 1 of both families is the exponential law, and shape 2 of gamma is the sum of two.
    CHECK(below(TrafficLaw::gamma, 1, 2, x) == Approx(1 - std::exp(-x / 2)).epsilon(1e-12));
    CHECK(below(TrafficLaw::weibull, 1, 2, x) == Approx(1 - std::exp(-x / 2)).epsilon(1e-12));
    CHECK(below(TrafficLaw::gamma, 2, 1, x) == Approx(1 - (1 + x) * std::exp(-x)).epsilon(1e-11));
  }
  CHECK(below(TrafficLaw::gamma, 0.5, 2, 1) ==
        Approx(std::erf(std::sqrt(0.5))).epsilon(1e-12));  // chi squared
  CHECK(below(TrafficLaw::lognormal, 5, 0.7, 5) == Approx(0.5));
  CHECK(below(TrafficLaw::lognormal, 5, 0.7, 5 * std::exp(0.7)) == Approx(0.8413447460685429));
  CHECK(below(TrafficLaw::uniform, 2, 6, 3) == Approx(0.25));
  CHECK(below(TrafficLaw::constant, 4, 0, 3.9) == 0);
  CHECK(below(TrafficLaw::constant, 4, 0, 4) == 1);
}

TEST_CASE("a law whose quantiles were counted is the closest, and its distance is zero", "[traffic]") {
  const auto closest = [](double mean, double deviation, auto quantile) {
    std::vector<CountedShare> counted;
    for (int k = 1; k < 200; ++k) counted.push_back({quantile(k / 200.0), k / 200.0});
    return fit_laws(mean, deviation, counted);
  };
  const auto e = closest(3, 3, [](double p) { return -3 * std::log(1 - p); });
  // With equal mean and deviation Weibull and gamma are the same law.
  CHECK(e.front().distance < 1e-9);
  const auto w = closest(2 * std::tgamma(1 + 1 / 0.6),
                         2 * std::sqrt(std::tgamma(1 + 2 / 0.6) - std::pow(std::tgamma(1 + 1 / 0.6), 2)),
                         [](double p) { return 2 * std::pow(-std::log(1 - p), 1 / 0.6); });
  CHECK(w.front().law == TrafficLaw::weibull);
  CHECK(w.front().first == Approx(0.6).epsilon(1e-9));
  CHECK(w.front().second == Approx(2).epsilon(1e-9));
  CHECK(w.front().distance < 1e-9);
  CHECK(w.back().distance > 0.1);
  const auto u = closest(10, 2 / std::sqrt(3.0), [](double p) { return 8 + 4 * p; });
  CHECK(u.front().law == TrafficLaw::uniform);
  CHECK(u.front().first == Approx(8));
}

TEST_CASE("the distance is the largest difference of the distribution functions", "[traffic]") {
  // Half at 1 and half at 3, against the uniform law with their mean 2 and deviation 1: 2 -+ sqrt 3.
  const std::vector<CountedShare> counted{{0.5, 0}, {1.5, 0.5}, {2.5, 0.5}, {3.5, 1}};
  const double width = 2 * std::sqrt(3.0), low = 2 - std::sqrt(3.0);
  for (const auto& f : fit_laws(2, 1, counted))
    if (f.law == TrafficLaw::uniform) CHECK(f.distance == Approx(0.5 - (1.5 - low) / width).epsilon(1e-12));
  const auto same = fit_laws(7, 0, std::vector<CountedShare>{{6.5, 0}, {7.5, 1}});
  REQUIRE(same.size() == 1);
  CHECK(same.front() == FittedLaw{TrafficLaw::constant, 7, 0, 0});
}
