#pragma once
/// The searches by the names of the command line and of Python.

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
