#pragma once
/// Propagates uncertain parameters to results: first order, samples, Sobol indices, and outer bounds.
///
///   linear_sd = sqrt(sum_i (d result / d x_i * sd_i)^2)
///   first_i = Var(E[result | x_i]) / Var(result)    total_i = 1 - Var(E[result | all but x_i]) / Var(result)
///
/// Samples are two sets of a scrambled Halton sequence, evaluations = samples * (parameters + 2). Outer
/// bounds come from interval arithmetic, where every distribution is bounded. Parameters are independent. The
/// answer depends on seed and question alone, to the last bit.
/// Example: ring all-reduce of 1 GB, 8 ranks, 400 GB/s, 50 us a step: 5.075 ms. With message uniform in 0.5
/// to 1.5 GB and step time uniform in 0 to 100 us: standard deviation 1.326 ms, first 0.91 and 0.09, bounds
/// 2.19 to 7.96 ms.
/// @cite saltelli2010variance; halton1960efficiency

#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/tape/uncertainty.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// An uncertain figure as written: "hardware.memory.bandwidth = normal 5 %", "kwh_price = uniform 0.05
/// USD/kWh..0.2 USD/kWh", "hardware.kernels.launch = triangular 1 us..4 us", "batch_size = uniform 8..64",
/// "hardware.power.tdp = lognormal 10 %", "itl = +-10 %".
///
/// A spread or range in percent is relative to the figure's value. "+-x %" is uniform.
struct UncertainFigure {
  std::string input;
  Distribution distribution = Distribution::normal;
  bool relative = false;
  double spread = 0, low = 0, high = 0;  ///< base units, or shares of the value
  Exponents exps{};                      ///< of absolute numbers

  /// @throws InputError that names the missing part
  [[nodiscard]] static UncertainFigure parse(std::string_view text);
  /// Over the inputs of a subject. @throws LookupError, DimensionError
  [[nodiscard]] UncertainInput at(const Subject& subject) const;
};

/// Samples that several processes evaluate together. Every draw has a number of its own, so that the answer
/// is that of one process.
struct SharedSamples {
  std::uint64_t part = 1, parts = 1;  ///< of the samples of each set, from 1; the process of part 1 answers
  /// Brings together what the processes hand in: to part 1 the numbers of all, part after part; what the
  /// others get is not looked at. Called as often in every process. Empty: one process has all samples.
  std::function<std::vector<double>(std::vector<double>)> gather{};
};

struct UncertaintyQuestion {
  std::vector<UncertainFigure> figures;
  /// Whether figures of the zoo that state a range bring it, where `figures` says nothing else of them; see
  /// Subject::estimates.
  bool estimates = true;
  std::vector<std::string> results;  ///< which; all by default
  std::size_t samples = 4096;        ///< of each of the two sets; samples * (figures + 2) evaluations
  bool attribution = true;  ///< also what each figure contributes; without it 2 * samples evaluations
  std::uint64_t seed = 1;
  double coverage = 0.9;  ///< of the interval [low, high]
  std::uint64_t memory =
      4ULL << 30;                 ///< bytes that the samples may take; more is refused before the first one
  std::function<void()> pause{};  ///< called every few thousand draws; what it throws ends the question
  SharedSamples shared{};
};

/// One result under uncertainty, base units.
struct UncertainNumber {
  std::string result;
  std::string_view meaning, unit;
  Exponents exps{};
  double value = 0;                                        ///< at the given figures
  double linear_sd = 0;                                    ///< first order
  double mean = 0, sd = 0, low = 0, median = 0, high = 0;  ///< of the samples
  std::optional<double> bound_low, bound_high;             ///< nothing lies outside; wide (outer bounds)
  std::vector<double> first;  ///< share of the variance that each figure explains by itself
  std::vector<double> total;  ///< share that would vanish with it, interactions included
};

/// Whether a result stays below that of another subject.
struct RankingUncertainty {
  std::string other, result;
  double value = 0, other_value = 0;  ///< at the given figures, base unit
  double below = 0;                   ///< probability that the result stays below that of the other
  double flips = 0;                   ///< probability that the order is another than at the given figures
};

struct UncertaintyReport {
  std::string subject;
  std::vector<std::string> figures;
  std::optional<RankingUncertainty> ranking;  ///< set by the caller of `rank`
  std::vector<UncertainNumber> results;
  std::size_t evaluations = 0, not_finite = 0;
  std::string bottleneck;  ///< at the given figures; empty where the subject has no parts
  double flips = 0;        ///< share of the samples in which another part is the longest
  Method gradient_method = Method::exact;
  std::vector<Assumption>
      assumptions;  ///< distributions that the zoo's ranges brought, and what was left out
};

/// @throws InputError, LookupError, DimensionError for a question that does not read; SolverError where draws
/// do not fall
///         into the range of an input
/// Where other processes share the samples, those of a part behind the first get a report without results.
[[nodiscard]] UncertaintyReport uncertainty(const Subject& subject, const UncertaintyQuestion& question);

/// The order of two subjects in one result under uncertainty. Figures of one name move together, and ranges
/// of the zoo that are of one figure; a figure of one subject alone moves alone. Shared samples: as above.
[[nodiscard]] RankingUncertainty rank(const Subject& a, const Subject& b, std::string_view result,
                                      const UncertaintyQuestion& question);
/// Probability that `result` of `a` stays below that of `b`: `below` of `rank`.
[[nodiscard]] double probability_below(const Subject& a, const Subject& b, std::string_view result,
                                       const UncertaintyQuestion& question);

}  // namespace mlsysim
