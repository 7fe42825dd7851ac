#pragma once
// Loops over the points of a block, compiled for each instruction set. What a point misses is a word as wide
// as a number, so that both go through the same vector lanes.

#include <mlsysim/resolver_api/expression.hpp>

#include <cstddef>
#include <cstdint>

namespace mlsysim::detail {

/// Bits of a point: one for each constraint that it misses (the last of them for all beyond), one where a
/// side is not finite. None: feasible.
using MissWord = std::uint64_t;
inline constexpr std::size_t kMissBits = 62;
inline constexpr MissWord kNotFinite = MissWord{1} << 63;

/// Sets `bit` where the comparison does not hold.
void mark_misses(Comparison comparison, const double* left, const double* right, MissWord bit,
                 MissWord* misses, std::size_t points);
/// Sets kNotFinite where `x` is not finite.
void mark_not_finite(const double* x, MissWord* misses, std::size_t points);

struct MissCounts {
  std::size_t feasible = 0, infeasible = 0;  ///< infeasible: some constraint is missed
};
[[nodiscard]] MissCounts count_misses(const MissWord* misses, std::size_t points);

/// How often one constraint is missed, and by how little.
struct ConstraintCounts {
  std::size_t violated = 0, alone = 0;  ///< alone: nothing else is amiss
  double least_excess = 0;  ///< smallest distance of the sides where it is alone; infinite if nowhere
};
[[nodiscard]] ConstraintCounts count_constraint(const MissWord* misses, MissWord bit, const double* left,
                                                const double* right, std::size_t points);

/// Smallest value of a feasible point; infinite if there is none.
[[nodiscard]] double least_feasible(const MissWord* misses, const double* x, std::size_t points);

}  // namespace mlsysim::detail
