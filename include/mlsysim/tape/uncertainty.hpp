#pragma once
/// Quantiles and random draws of an uncertain input, cut to the range of its field.
///
///     normal:     x = value + spread z(p)              lognormal: x = value exp(spread z(p))
///     uniform:    x = low + p w                        w = high - low, z: standard normal quantile
///     triangular: x = low + sqrt(p w (value - low))            where p w < value - low
///                 x = high - sqrt((1 - p) w (high - value))    elsewhere
///
/// p: probability of a smaller value. `input_quantile` scales p to the probability inside the range of the
/// field. `draw_input` draws again where a value falls outside. Counts are rounded. Inputs are independent.
/// Effects on results are computed in explore/ask/uncertainty.hpp.
/// Example: a bandwidth of 2 TB/s, normal with spread 0.2 TB/s: the 90 % quantile is 2.256 TB/s.

#include <mlsysim/tape/law_entry.hpp>
#include <mlsysim/tape/method.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace mlsysim {

enum class Distribution : std::uint8_t {
  normal,      ///< mean = the input's value, standard deviation `spread`
  lognormal,   ///< median = the input's value, standard deviation of the logarithm `spread`
  uniform,     ///< on [low, high]
  triangular,  ///< on [low, high], mode = the input's value
};

/// The distribution of one uncertain input, in the canonical base unit.
struct UncertainInput {
  std::size_t input = 0;  ///< index
  Distribution distribution = Distribution::normal;
  double spread = 0;
  double low = 0, high = 0;
};

/// The value that the input stays below with probability `p` in (0, 1), its distribution cut to the range of
/// the field; a count is rounded. @throws InputError for a distribution that is none, SolverError where the
/// range has no probability
[[nodiscard]] double input_quantile(const LawEntry& law, const UncertainInput& spec, double value, double p);

/// Draws [first, first + out.size()) of one input under `seed`; returns how many were redrawn.
std::size_t draw_input(const LawEntry& law, const UncertainInput& spec, double value, std::uint64_t seed,
                       std::uint64_t first, std::span<double> out);

}  // namespace mlsysim
