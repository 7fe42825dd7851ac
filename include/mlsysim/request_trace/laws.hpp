#pragma once
/// Laws of lengths and of times between arrivals, fitted by their moments.

#include <mlsysim/reflect/choice.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// Families of two parameters at most.
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

/// Every family with this mean and deviation, the closest first; of equals the one named first.
///
/// Moments and not likelihood: what models of queues and of batches read are mean and deviation, so each law
/// keeps them, and its distance says what its shape is worth. Families that cannot have them are left out.
[[nodiscard]] std::vector<FittedLaw> fit_laws(double mean, double deviation,
                                              std::span<const CountedShare> counted);

/// "lognormal, median 1020, deviation of the log 0.83"
[[nodiscard]] std::string law_text(const FittedLaw& law);

}  // namespace mlsysim
