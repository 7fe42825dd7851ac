#pragma once
// The ways to search a space, and how an answer is written from what they kept.

#include "explore/search/reduction.hpp"

namespace mlsysim::detail {

struct SearchResult {
  Reduction reduction;
  PointRange range;
  std::uint64_t next = 0;  ///< points before it are done
  bool complete = true;
  bool proven = false;  ///< branch and bound ran to its end
  double boxes = 0, bound = 0;
  unsigned threads = 1;
  double seconds = 0;
};

/// Every point of the range.
[[nodiscard]] SearchResult sweep_points(const Space& space, const Question& question,
                                        const ExploreOptions& options, PointRange range, std::uint64_t from,
                                        Reduction start);
/// Best first over boxes. Unless it is asked for, it gives up when bounds have cost as much as evaluating
/// every point (then `proven` is false).
[[nodiscard]] SearchResult branch_and_bound(const Space& space, const Question& question,
                                            const ExploreOptions& options);
/// Why the question cannot be answered by bounds; empty when it can.
[[nodiscard]] std::string no_bounds(const Space& space, const Question& question,
                                    const ExploreOptions& options);

/// A strategy that needs a library and proves nothing.
struct HeuristicSearch {
  /// Why the strategy cannot answer a question; empty when it can.
  std::string (*obstacle)(const Space& space, const Question& question, const ExploreOptions& options);
  ExploreAnswer (*run)(const Space& space, const Question& question, const ExploreOptions& options);
};
/// Better and better points between the values of the axes; the best one, or the best sample of the grid.
/// Null where NLopt was not found (no_gradient.cpp).
[[nodiscard]] const HeuristicSearch* gradient_search();
/// Generations of points of the grid. Null where pagmo2 was not found (no_evolution.cpp).
[[nodiscard]] const HeuristicSearch* evolutionary_search();

/// Which constraints exclude each other, over every point of a space without a feasible one.
[[nodiscard]] Conflict conflict_of(const Space& space, const Question& question);
/// A number as reports show it.
[[nodiscard]] std::string shown(double base, const Exponents& exps, std::string_view unit, int digits = 4);
/// One point for a report, its numbers computed again.
[[nodiscard]] FoundPoint found_at(const Space& space, const Question& question, std::uint64_t index);

[[nodiscard]] std::string state_text(const SearchResult& result, const std::string& digest,
                                     std::uint64_t shard, std::uint64_t shards);
[[nodiscard]] ExploreAnswer write_answer(const Space& space, const Question& question,
                                         const SearchResult& result);

}  // namespace mlsysim::detail
