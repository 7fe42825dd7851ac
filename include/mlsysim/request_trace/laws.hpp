#pragma once
/// Fits distributions of lengths and arrival gaps to a mean and a standard deviation (method of moments).
///
///   uniform      mean -+ sqrt(3) * deviation             exponential  mean
///   gamma        shape = 1 / cv^2, scale = mean * cv^2
///   lognormal    median = mean / sqrt(1 + cv^2), deviation of the log = sqrt(ln(1 + cv^2))
///   weibull      cv^2 = G(1 + 2 / shape) / G(1 + 1 / shape)^2 - 1, scale = mean / G(1 + 1 / shape)
///
/// cv = deviation / mean. G: gamma function. The distance is that of Kolmogorov and Smirnov to the counted
/// shares. The exponential law keeps the mean alone. Uniform needs a lower end of 0 or more, Weibull a shape
/// from 0.1 to 100.
/// Example: mean 2 and deviation 1: uniform 0.268 to 3.732, gamma with shape 4 and scale 0.5, lognormal with
/// median 1.789 and 0.472, Weibull with shape 2.1 and scale 2.258.

#include <mlsysim/reflect/choice.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// Families of distributions with at most two parameters.
enum class TrafficLaw : std::uint8_t { constant, uniform, exponential, weibull, gamma, lognormal };
template <> inline constexpr auto names_of<TrafficLaw> = ChoiceNames{"law of traffic"};

/// A law and how far it is from what was counted.
struct FittedLaw {
  TrafficLaw law{};
  /// constant: the value. uniform: its ends. exponential: its mean. weibull, gamma: shape and scale.
  /// lognormal: median, and deviation of the logarithm.
  double first = 0, second = 0;
  double distance = 0;  ///< of Kolmogorov and Smirnov: the largest difference of the distribution functions

  friend bool operator==(const FittedLaw&, const FittedLaw&) = default;
};

/// The distribution function of a law.
[[nodiscard]] double law_share_below(const FittedLaw& law, double x);

/// The share of what was counted that lies below a value.
struct CountedShare {
  double value = 0, share = 0;
};

/// Every family with this mean and deviation, the closest first. Among equals, the family that is declared
/// first comes first. Families that cannot have these moments are left out; the exponential law keeps the
/// mean alone. A deviation of 0 gives the constant alone.
///
/// Moments rather than likelihood: models of queues and batches read mean and deviation.
[[nodiscard]] std::vector<FittedLaw> fit_laws(double mean, double deviation,
                                              std::span<const CountedShare> counted);

/// "lognormal, median 1020, deviation of the log 0.83"
[[nodiscard]] std::string law_text(const FittedLaw& law);

}  // namespace mlsysim
