#pragma once
/// How uncertain a result is because its inputs are.
///
/// Two answers, side by side: linear propagation from the derivatives (free, blind to kinks and curvature) and Monte
/// Carlo over seeded draws (sees both). Inputs are independent.

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

/// What is known about one uncertain input, in the canonical base unit.
struct UncertainInput {
  std::size_t input = 0;  ///< index
  Distribution distribution = Distribution::normal;
  double spread = 0;
  double low = 0, high = 0;
};

struct UncertaintyOptions {
  std::size_t samples = 100000;
  std::uint64_t seed = 1;
  double coverage = 0.9;  ///< share of the samples between `low` and `high` of a result
};

/// Uncertainty of one result.
struct UncertainResult {
  double value = 0;      ///< at the given inputs
  double linear_sd = 0;  ///< first order; with the larger of the two slopes at a kink
  double mean = 0, sd = 0;       ///< of the samples
  double low = 0, median = 0, high = 0;  ///< quantiles of the samples
  std::vector<double> share;     ///< [uncertain inputs] share of each in the first-order variance
};

struct Uncertainty {
  Method gradient_method = Method::exact;
  Method sampling_method = Method::exact;
  std::vector<UncertainResult> results;
  std::size_t samples = 0;
  std::size_t redrawn = 0;     ///< draws outside the range of their input, drawn again (the distribution is cut there)
  std::size_t not_finite = 0;  ///< samples left out because some result was not a finite number
};

/// Propagates uncertainty. Same seed, same bytes.
/// @throws InputError, DomainError; SolverError if draws almost never fall into the range of their input
[[nodiscard]] Uncertainty propagate(const LawEntry& law, std::span<const double> in,
                                    std::span<const UncertainInput> uncertain, const UncertaintyOptions& options = {});

/// The value that the input stays below with probability `p` in (0, 1), its distribution cut to the range of the field;
/// a count is rounded. @throws InputError for a distribution that is none, SolverError where the range has no probability
[[nodiscard]] double input_quantile(const LawEntry& law, const UncertainInput& spec, double value, double p);

/// Draws [first, first + out.size()) of one input under `seed`, as `propagate` uses them; returns how many were redrawn.
std::size_t draw_input(const LawEntry& law, const UncertainInput& spec, double value, std::uint64_t seed,
                       std::uint64_t first, std::span<double> out);

}  // namespace mlsysim
