#pragma once
// The samples behind an uncertain number. They are evaluated a chunk at a time: of each sample nothing is
// kept but the values of the results asked for, from which quantiles are read; what is a sum is summed.

#include <mlsysim/explore/ask/uncertainty.hpp>

#include <span>
#include <utility>

namespace mlsysim::detail {

/// As many as the sequence of draws has dimensions for.
inline constexpr std::size_t kMostUncertainFigures = 32;

/// Over the samples in which one figure alone is exchanged: of sets a and b, and a with one column of b.
struct FigureSums {
  double product = 0;  ///< (b - center) (mixed - a)
  double change = 0;   ///< mixed - a
  double square = 0;   ///< (a - mixed)^2
};

struct SampledResult {
  std::vector<double> values;       ///< of both sets, where the result is finite in all
  std::vector<FigureSums> figures;  ///< of the same samples
  double centre = 0;                ///< near the mean, so that few digits cancel
  std::size_t left_out = 0;
};

struct Sampled {
  std::vector<SampledResult> results;
  std::size_t flips = 0;  ///< draws of both sets in which another part is the longest than at the point
};

struct SampleQuestion {
  const std::vector<UncertainInput>& figures;
  std::span<const std::size_t> results;  ///< asked for
  std::span<const std::size_t> parts;    ///< of a time
  std::span<const double> at_point;      ///< all results at the given figures
};

/// Draws samples. Only the process of part 1 gets the samples of all; the others return none. @throws
/// InputError where it takes more than `q.memory`, before the first draw
[[nodiscard]] Sampled sample(const Subject& subject, const SampleQuestion& ask, const UncertaintyQuestion& q);

struct FirstSet {
  const Subject& subject;
  const std::vector<UncertainInput>& figures;
  std::span<const std::size_t> dimensions;  ///< of the sequence, one per figure
  std::size_t result;
};
/// A result of each of two subjects over the first set of draws; empty where another process answers.
[[nodiscard]] std::pair<std::vector<double>, std::vector<double>> first_sets(const FirstSet& a,
                                                                             const FirstSet& b,
                                                                             const UncertaintyQuestion& q);

/// Which part has the largest value.
template <class Value> std::size_t longest(std::span<const std::size_t> parts, const Value& value) {
  std::size_t best = 0;
  for (std::size_t p = 1; p < parts.size(); ++p)
    if (value(parts[p]) > value(parts[best])) best = p;
  return best;
}

}  // namespace mlsysim::detail
