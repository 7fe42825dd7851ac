#pragma once
/// Searches that several processes share: states joined two by two, and branch and bound with one shared best
/// value.
///
/// A part drops boxes that cannot beat the best value that any worker has found.
/// Example: ring all-reduce at 400 GB/s and 5 us a step, 2 to 1001 ranks, 1000 messages from 1 to 1000 MB.
/// Least time is asked under ranks * message >= 1 GB. Part 1 of 2 finds point 18049 (20 ranks, 50 MB, 427.5
/// us) and evaluates 435 of the 1,000,000 points. Part 2 finds 971 us.

#include <mlsysim/explore/search/explore.hpp>

#include <functional>
#include <string>

namespace mlsysim {

/// Joins the states of parts that follow one another into the state of one part, so that a tree of workers
/// can merge.
/// @throws InputError as `merge`, but that parts before the first and behind the last may be missing
[[nodiscard]] std::string join_states(const Space& space, const Question& question,
                                      std::span<const std::string> states);

/// Gives the best value that any worker has found; takes this worker's, infinite where there is none. In the
/// direction of the objective, smaller is better.
using ShareBest = std::function<double(double mine)>;

/// The result of one worker in a shared branch-and-bound search.
struct BoundedPart {
  double value = 0;         ///< of its best point, smaller is better; infinite where it has none
  std::uint64_t index = 0;  ///< of that point
  double boxes = 0, evaluated = 0;
  bool proven = false;  ///< nothing of its part is better than the best of all workers
};

/// Why the question cannot be answered by bounds; empty when it can.
[[nodiscard]] std::string no_shared_bounds(const Space& space, const Question& question);
/// Part `part` of `parts`, from 1, of the boxes of a space. Boxes that cannot hold anything better than what
/// some worker has found are dropped; of points that are as good each worker keeps its lowest, so that the
/// lowest of all parts is the answer of one worker. An empty `share`: the worker knows of no other.
/// @throws as `explore`
[[nodiscard]] BoundedPart bounded_part(const Space& space, const Question& question,
                                       const ExploreOptions& options, std::uint64_t part, std::uint64_t parts,
                                       const ShareBest& share);
/// The answer to the best of all parts. How many boxes and points were looked at depends on when the workers
/// heard of each other, and is not part of it.
[[nodiscard]] ExploreAnswer bounded_answer(const Space& space, const Question& question,
                                           const BoundedPart& best);

}  // namespace mlsysim
