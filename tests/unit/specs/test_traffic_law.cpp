// Quantiles of laws of lengths, against their closed forms.

#include <support/catch.hpp>

#include <mlsysim/specs/traffic_law.hpp>

#include <cmath>

using namespace mlsysim;

TEST_CASE("the quantile of a law is where its share is reached", "[specs]") {
  const auto quantile = [](TrafficLaw law, double cv, double share) {
    return law_quantile(*law_of_moments(law, 1.0, cv), share);
  };
  CHECK(quantile(TrafficLaw::exponential, 1, 0.99) == Approx(std::log(100)).epsilon(1e-12));
  CHECK(quantile(TrafficLaw::uniform, 0.5, 0.9) == Approx(1 + std::sqrt(3.0) * 0.5 * 0.8).epsilon(1e-12));
  // 99 % of a normal law are below 2.326 deviations.
  const double log = std::log(1 + 0.64);
  CHECK(quantile(TrafficLaw::lognormal, 0.8, 0.99) ==
        Approx(std::exp(2.3263478740408408 * std::sqrt(log) - log / 2)).epsilon(1e-9));
  // Gamma and Weibull with as much deviation as mean are the exponential law.
  CHECK(quantile(TrafficLaw::gamma, 1, 0.95) == Approx(std::log(20)).epsilon(1e-10));
  CHECK(quantile(TrafficLaw::weibull, 1, 0.95) == Approx(std::log(20)).epsilon(1e-9));
  CHECK(quantile(TrafficLaw::constant, 0, 0.5) == 1);
  CHECK_FALSE(law_of_moments(TrafficLaw::uniform, 1, 0.6).has_value());
}
