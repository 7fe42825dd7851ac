#include <mlsysim/specs/traffic_law.hpp>
#include <mlsysim/units/detail/halving.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr double kSqrt3 = 1.7320508075688772;

/// The lower incomplete gamma function over the whole one: its series below a + 1, its continued fraction
/// above (Press et al., Numerical Recipes, 3rd edition, section 6.2).
double gamma_share(double a, double x) {
  if (!(x > 0)) return 0;
  const double head = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < 10000 && std::fabs(term) > 1e-15 * sum; ++n) sum += term *= x / (a + n);
    return std::min(1.0, head * sum);
  }
  constexpr double tiny = 1e-300;
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, fraction = d;
  for (int n = 1; n < 10000; ++n) {
    const double step = -n * (n - a);
    b += 2;
    d = step * d + b;
    if (std::fabs(d) < tiny) d = tiny;
    c = b + step / c;
    if (std::fabs(c) < tiny) c = tiny;
    d = 1 / d;
    fraction *= d * c;
    if (std::fabs(d * c - 1) < 1e-15) break;
  }
  return std::clamp(1 - head * fraction, 0.0, 1.0);
}

/// Squared deviation over mean of a Weibull law of this shape.
double weibull_cv2(double shape) {
  const double mean = std::tgamma(1 + 1 / shape);
  return std::tgamma(1 + 2 / shape) / (mean * mean) - 1;
}

/// The shape that has it, by halving; none outside of 0.1 to 100.
std::optional<double> weibull_shape(double cv2) {
  const double low = std::log(0.1), high = std::log(100.0);
  if (cv2 >= weibull_cv2(std::exp(low)) || cv2 <= weibull_cv2(std::exp(high))) return std::nullopt;
  const auto [a, b] =
      detail::halved(low, high, 0, 60, [&](double log) { return weibull_cv2(std::exp(log)) > cv2; });
  return std::exp(0.5 * (a + b));
}

}  // namespace

std::optional<FittedLaw> law_of_moments(TrafficLaw law, double mean, double deviation) {
  const double cv2 = deviation * deviation / (mean * mean);
  switch (law) {
    case TrafficLaw::constant:
      return FittedLaw{law, mean, 0};
    case TrafficLaw::uniform:
      if (mean < kSqrt3 * deviation) return std::nullopt;  // lengths and times are not negative
      return FittedLaw{law, mean - kSqrt3 * deviation, mean + kSqrt3 * deviation};
    case TrafficLaw::exponential:
      return FittedLaw{law, mean, 0};
    case TrafficLaw::weibull: {
      const auto shape = weibull_shape(cv2);
      if (!shape) return std::nullopt;
      return FittedLaw{law, *shape, mean / std::tgamma(1 + 1 / *shape)};
    }
    case TrafficLaw::gamma:
      return FittedLaw{law, 1 / cv2, mean * cv2};
    case TrafficLaw::lognormal:
      return FittedLaw{law, mean / std::sqrt(1 + cv2), std::sqrt(std::log1p(cv2))};
  }
  return std::nullopt;
}

double law_share_below(const FittedLaw& f, double x) {
  switch (f.law) {
    case TrafficLaw::constant:
      return x >= f.first ? 1 : 0;
    case TrafficLaw::uniform:
      return f.second > f.first ? std::clamp((x - f.first) / (f.second - f.first), 0.0, 1.0)
                                : (x >= f.first ? 1 : 0);
    case TrafficLaw::exponential:
      return x > 0 ? -std::expm1(-x / f.first) : 0;
    case TrafficLaw::weibull:
      return x > 0 ? -std::expm1(-std::pow(x / f.second, f.first)) : 0;
    case TrafficLaw::gamma:
      return gamma_share(f.first, x / f.second);
    case TrafficLaw::lognormal:
      return x > 0 ? 0.5 * std::erfc(-std::log(x / f.first) / (f.second * std::sqrt(2.0))) : 0;
  }
  return 0;
}

double law_quantile(const FittedLaw& f, double share) {
  if (f.law == TrafficLaw::constant) return f.first;
  const auto is_below = [&](double x) { return law_share_below(f, x) < share; };
  double high = 1;
  while (is_below(high) && high < 1e300) high *= 2;
  return detail::halved(0, high, 1e-14, 2000, is_below).second;
}

}  // namespace mlsysim
