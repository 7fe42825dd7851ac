#pragma once
/// Searches that several processes share, that can be resumed, or that list their points in a file.
///
/// The component `ops` has them. It uses the functions of the first part, which every search uses.

#include "observed.hpp"
#include "questions.hpp"

namespace mlsysim::cli {

/// The options of a search in this process. Ctrl-C ends it by `cancel`; its progress is shown and told.
[[nodiscard]] ExploreOptions explore_options(const SearchRequest& asked, const AskedSpace& s,
                                             Observed& observed);
/// Answers by the command of the request: sweep, optimize or pareto.
[[nodiscard]] ExploreAnswer explored(const AskedSpace& s, const SearchRequest& asked,
                                     const ExploreOptions& how, Observed& observed);
[[nodiscard]] Answer answer_of(const ExploreAnswer& a, const RenderOptions& options);

/// A search with a shard, a state or a file of rows.
[[nodiscard]] Answer divided_search(const ScenarioRequest& request, const SearchRequest& asked,
                                    const RenderOptions& options);
/// Runs a question whose samples the ranks of mpirun share; rank 0 has the answer.
[[nodiscard]] Answer sampled_on_ranks(const std::function<Answer(const SharedSamples&)>& question);

}  // namespace mlsysim::cli
