#include "detail/block_kernels.hpp"

#include <mlsysim/scalars/clones.hpp>

#include <cmath>

namespace mlsysim::detail {

MLSYSIM_KERNEL void mark_misses(Comparison comparison, const double* left, const double* right, MissWord bit, MissWord* misses,
                                std::size_t points) {
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
  // x - x is 0 for numbers, else NaN.
  for (std::size_t p = 0; p < points; ++p) misses[p] |= x[p] - x[p] == 0.0 ? MissWord{0} : kNotFinite;
}

MLSYSIM_KERNEL MissCounts count_misses(const MissWord* misses, std::size_t points) {
  std::uint64_t feasible = 0, infeasible = 0;
  for (std::size_t p = 0; p < points; ++p) {
    feasible += misses[p] == 0 ? 1u : 0u;
    infeasible += (misses[p] & ~kNotFinite) != 0 ? 1u : 0u;
  }
  return {feasible, infeasible};
}

MLSYSIM_KERNEL ConstraintCounts count_constraint(const MissWord* misses, MissWord bit, const double* left, const double* right,
                                                 std::size_t points) {
  std::uint64_t violated = 0, alone = 0;
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
  double least = HUGE_VAL;
  for (std::size_t p = 0; p < points; ++p) {
    const double value = misses[p] == 0 ? x[p] : HUGE_VAL;
    least = value < least ? value : least;
  }
  return least;
}

}  // namespace mlsysim::detail
