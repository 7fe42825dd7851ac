#pragma once
/// Optimize (one objective), pareto (two or more) and sweep (counts), under the names of the command line and
/// Python.
///
/// Example: ring all-reduce at 400 GB/s and 5 us a step, ranks 2, 4, 8 and messages of 1 MB and 1 GB, 6
/// points. `optimize` for the least time under ranks * message >= 4 MB: 4 ranks, 1 MB, 33.75 us. 5 points are
/// feasible.

#include <mlsysim/explore/search/explore.hpp>

namespace mlsysim {

/// The best points of a space for one objective. @throws InputError for another number of objectives; as
/// `explore`
[[nodiscard]] ExploreAnswer optimize(const Space& space, const Question& question,
                                     const ExploreOptions& options = {});
/// The points that nothing beats in all of several objectives. @throws InputError for fewer than two; as
/// `explore`
[[nodiscard]] ExploreAnswer pareto(const Space& space, const Question& question,
                                   const ExploreOptions& options = {});
/// Counts, and what the question keeps, over every point; rows: `visit_points`. @throws as `explore`
[[nodiscard]] ExploreAnswer sweep(const Space& space, const Question& question, ExploreOptions options = {});

}  // namespace mlsysim
