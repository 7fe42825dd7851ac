#pragma once
/// Distributions of lengths and arrival gaps with a given mean and standard deviation (method of moments).
///
///   uniform      mean -+ sqrt(3) * deviation             exponential  mean
///   gamma        shape = 1 / cv^2, scale = mean * cv^2
///   lognormal    median = mean / sqrt(1 + cv^2), deviation of the log = sqrt(ln(1 + cv^2))
///   weibull      cv^2 = G(1 + 2 / shape) / G(1 + 1 / shape)^2 - 1, scale = mean / G(1 + 1 / shape)
///
/// cv = deviation / mean. G: gamma function. The exponential law keeps the mean alone. Uniform needs a lower
/// end of 0 or more, Weibull a shape from 0.1 to 100.
/// Example: mean 2 and deviation 1: uniform 0.268 to 3.732, gamma with shape 4 and scale 0.5, lognormal with
/// median 1.789 and 0.472, Weibull with shape 2.1 and scale 2.258.

#include <mlsysim/reflect/choice.hpp>

#include <cstdint>
#include <optional>

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

/// The law of a family with this mean and deviation; none where the family cannot have them.
[[nodiscard]] std::optional<FittedLaw> law_of_moments(TrafficLaw law, double mean, double deviation);

/// The distribution function of a law.
[[nodiscard]] double law_share_below(const FittedLaw& law, double x);

/// The value that this share of what follows the law stays below, by halving. @param share in (0, 1)
[[nodiscard]] double law_quantile(const FittedLaw& law, double share);

}  // namespace mlsysim
