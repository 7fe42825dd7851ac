#include "explore/search/block_kernels.hpp"

#include <mlsysim/scalars/detail/clones.hpp>

#include <cmath>

namespace mlsysim::detail {

MLSYSIM_KERNEL void mark_misses(Comparison comparison, const double* left, const double* right, MissWord bit,
                                MissWord* misses, std::size_t points) {
  switch (comparison) {
    case Comparison::at_most:
      for (std::size_t p = 0; p < points; ++p) misses[p] |= left[p] <= right[p] ? MissWord{0} : bit;
      break;
    case Comparison::at_least:
      for (std::size_t p = 0; p < points; ++p) misses[p] |= left[p] >= right[p] ? MissWord{0} : bit;
      break;
    case Comparison::below:
      for (std::size_t p = 0; p < points; ++p) misses[p] |= left[p] < right[p] ? MissWord{0} : bit;
      break;
    case Comparison::above:
      for (std::size_t p = 0; p < points; ++p) misses[p] |= left[p] > right[p] ? MissWord{0} : bit;
      break;
    case Comparison::equal:
      for (std::size_t p = 0; p < points; ++p) misses[p] |= left[p] == right[p] ? MissWord{0} : bit;
      break;
  }
}

MLSYSIM_KERNEL void mark_not_finite(const double* x, MissWord* misses, std::size_t points) {
  // x - x is 0 for numbers, else NaN; isfinite is a call that is not done for several at once.
  for (std::size_t p = 0; p < points; ++p)
    misses[p] |= x[p] - x[p] == 0.0 ? MissWord{0} : kNotFinite;  // NOLINT(misc-redundant-expression)
}

MLSYSIM_KERNEL MissCounts count_misses(const MissWord* misses, std::size_t points) {
  std::size_t feasible = 0, infeasible = 0;
  for (std::size_t p = 0; p < points; ++p) {
    feasible += misses[p] == 0 ? 1u : 0u;
    infeasible += (misses[p] & ~kNotFinite) != 0 ? 1u : 0u;
  }
  return {feasible, infeasible};
}

MLSYSIM_KERNEL ConstraintCounts count_constraint(const MissWord* misses, MissWord bit, const double* left,
                                                 const double* right, std::size_t points) {
  std::size_t violated = 0, alone = 0;
  double least = HUGE_VAL;
  for (std::size_t p = 0; p < points; ++p) {
    violated += (misses[p] & bit) != 0 ? 1u : 0u;
    alone += misses[p] == bit ? 1u : 0u;
    const double distance = std::fabs(left[p] - right[p]);
    const double excess = misses[p] == bit ? distance : HUGE_VAL;
    least = excess < least ? excess : least;
  }
  return {violated, alone, least};
}

MLSYSIM_KERNEL double least_feasible(const MissWord* misses, const double* x, std::size_t points) {
  // Several minima side by side: a single one would have to wait for itself.
  constexpr std::size_t kSide = 32;  // more than the compiler unrolls into single numbers
  double least[kSide];
  for (std::size_t j = 0; j < kSide; ++j) least[j] = HUGE_VAL;
  std::size_t at = 0;
  for (; at + kSide <= points; at += kSide)
    for (std::size_t j = 0; j < kSide; ++j) {
      const double here = x[at + j], value = misses[at + j] == 0 ? here : HUGE_VAL;
      least[j] = value < least[j] ? value : least[j];
    }
  for (; at < points; ++at)
    if (misses[at] == 0 && x[at] < least[0]) least[0] = x[at];
  for (std::size_t j = 1; j < kSide; ++j) least[0] = least[j] < least[0] ? least[j] : least[0];
  return least[0];
}

}  // namespace mlsysim::detail
