#pragma once
/// Derivatives of results by inputs at one point, with both sides of a kink and the size of a step.
///
///     smooth: slope = d result / d input
///     kink:   one slope per side, at a tie of min, max, abs or select
///     step:   slope = change / step, up to the next value of a ceil, a floor or a count
///     elasticity = slope * input / result
///
/// Slopes are in base units of the result per base unit of the input. Laws are differentiated exactly. For
/// other resolvers they are central differences over h = cbrt(eps) |input|, eps = 2^-52, or h = cbrt(eps) at
/// input 0.
/// Example: Roofline, 10 TFLOP, 40 GB, 1000 TFLOP/s, 2 TB/s: d time / d bandwidth = -10 ms per TB/s,
/// elasticity -1. With 20 TFLOP, a tie, the slopes are 0 rightwards and -10 ms per TB/s leftwards.

#include <mlsysim/tape/law_entry.hpp>
#include <mlsysim/tape/method.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mlsysim {

/// How a result depends on an input at this point.
enum class Slope : std::uint8_t {
  smooth,  ///< one slope
  kink,    ///< two slopes, one per side: the limiting term changes here
  step,  ///< changes in steps (ceil, floor, a count): the slope between steps is meaningless, `change` is not
};

/// How much is found out about a result that moves in steps along an input.
enum class Steps : std::uint8_t {
  followed,  ///< the next step and the change there: for each input several evaluations
  marked,    ///< that it does, and the slope between steps; counts are followed all the same
};

/// Dependence of one result on one input, in canonical base units.
struct Sensitivity {
  Slope slope = Slope::smooth;
  double right = 0;  ///< slope for an increase of the input
  double left = 0;   ///< slope for a decrease
  double step = 0;  ///< for steps: move of the input to the next step; negative if the next is below, 0 for a
                    ///< jump right here
  double change = 0;  ///< for steps: change of the result over that move, or of the jump

  /// The slope where both sides agree, or change / step of a step. Empty at kinks and jumps.
  [[nodiscard]] std::optional<double> value() const {
    if (slope == Slope::smooth) return right;
    if (slope == Slope::step && step != 0) return change / step;
    return std::nullopt;
  }
};

/// All sensitivities of a law at one point.
struct Gradient {
  Method method = Method::exact;
  std::vector<double> in;            ///< the point
  std::vector<double> values;        ///< results there
  std::vector<Sensitivity> entries;  ///< [results, inputs]

  [[nodiscard]] const Sensitivity& at(std::size_t result, std::size_t input) const {
    return entries.at(result * in.size() + input);
  }
  /// Relative change of the result per relative change of the input (1 = proportional); empty at kinks and
  /// where the input or the result is 0.
  [[nodiscard]] std::optional<double> elasticity(std::size_t result, std::size_t input) const;
};

/// Derivatives at a point that is within the ranges of the law.
/// @param wanted indices of inputs; the entries of the others stay zero. All by default
/// @param results indices of results; the entries of the others stay zero. All by default: one sweep
/// backwards for each
/// @param steps `marked` leaves `step` and `change` of inputs at 0 that meet a ceil or floor and do not jump
/// right here
/// @throws InputError, DomainError for inputs that are not admissible
[[nodiscard]] Gradient gradient(const LawEntry& law, std::span<const double> in,
                                std::span<const std::size_t> wanted = {},
                                std::span<const std::size_t> results = {}, Steps steps = Steps::followed);

}  // namespace mlsysim
