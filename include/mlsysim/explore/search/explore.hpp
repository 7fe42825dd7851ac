#pragma once
/// Searches a design space: counts, best points of one objective, or the Pareto front of several.
///
///   minimize or maximize objective(point)   subject to every constraint(point), memory and whole replicas
///
/// Exhaustive search and branch and bound prove their answer. Gradient and evolutionary search do not. The
/// answer has the same bytes for any number of threads, shards or restarts. Equal points: the lower index
/// wins.
/// Example: ring all-reduce at 400 GB/s and 5 us a step, ranks 2, 4, 8 and messages of 1 MB and 1 GB. Least
/// time under ranks * message >= 4 MB: point 2 (4 ranks, 1 MB), 33.75 us. 5 of 6 points are feasible.

#include <mlsysim/explore/space/space.hpp>
#include <mlsysim/resolver_api/expression.hpp>
#include <mlsysim/resolver_api/search_summary.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

enum class Goal : std::uint8_t { minimize, maximize };

/// An expression that should be small or large.
struct ObjectiveExpression {
  Goal goal = Goal::minimize;
  std::string text;
};

/// How a space is searched.
enum class Strategy : std::uint8_t {
  automatic,         ///< branch and bound for one objective where bounds exist and the space is large, else
                     ///< exhaustive
  exhaustive,        ///< every point
  branch_and_bound,  ///< boxes whose bound cannot win are dropped; proven best
  gradient,      ///< axes over continuous numbers are left between their ends; exact slopes, several starts;
                 ///< NLopt
  evolutionary,  ///< generations of points of the grid, one objective or several; pagmo2
};
template <>
inline constexpr auto names_of<Strategy> =
    ChoiceNames{"strategy", "automatic", "exhaustive", "branch-and-bound", "gradient", "evolutionary"};
/// Whether this build can search so: gradient and evolutionary need a library that is optional.
[[nodiscard]] bool is_built(Strategy strategy);

/// A question to a space.
struct Question {
  std::vector<ObjectiveExpression> objectives;  ///< none: points are counted; several: the Pareto front
  std::vector<std::string>
      constraints;                ///< "ttft <= 500 ms"; points that do not fit in memory are excluded as well
  std::vector<std::string> show;  ///< results and expressions that reports list beside the objectives
  std::size_t top = 1;            ///< best points to keep, for one objective
  std::optional<std::string> histogram;  ///< expression whose distribution over feasible points is kept
  bool implicit_constraints =
      true;  ///< memory_used <= memory_capacity and whole replicas, where the subject has them
};

/// How far a search is, for display.
struct Progress {
  double done = 0, total = 0;  ///< points
  double rate = 0;             ///< points per second
  double seconds_left = 0;
};

/// How a search is run. None of this changes the answer of a strategy that proves it; the heuristic ones
/// (gradient, evolutionary) give the same bytes for the same seed and number of evaluations.
struct ExploreOptions {
  Strategy strategy = Strategy::automatic;
  std::uint64_t seed = 1;             ///< of the heuristic strategies
  std::uint64_t evaluations = 20000;  ///< after which a heuristic strategy stops
  unsigned threads = 0;               ///< 0: as many as there are cores
  /// Operations of the tapes that a search by bounds holds at once. A choice of the structural axes beyond
  /// them is recorded anew when it is looked at.
  std::size_t tape_operations = std::size_t{1} << 22;
  std::uint64_t shard = 1, shards = 1;        ///< part `shard` of `shards` of the index space, from 1
  const std::atomic<bool>* cancel = nullptr;  ///< checked a few times a second; the answer so far is valid
  std::function<void(const Progress&)> progress{};
  /// State of an earlier, unfinished run of the same question, as `checkpoint` got it. Exhaustive strategy
  /// only.
  std::string resume{};
  /// Called with such a state about every ten seconds and at the end. Exhaustive strategy only.
  std::function<void(const std::string& state)> checkpoint{};
};

/// One point of an answer.
struct FoundPoint {
  std::uint64_t index = 0;          ///< of the point; of the nearest one where it lies between points
  bool between = false;             ///< off the grid: axes over continuous numbers have values of their own
  std::vector<std::string> labels;  ///< one per axis
  std::vector<double> objectives;   ///< base units, in the order asked
  std::vector<double> shown;        ///< values of `show`
  std::vector<std::string> warnings{};
};

/// A constraint over the whole space.
struct ConstraintCount {
  std::string text;
  double violated = 0;                ///< points that miss it
  double alone = 0;                   ///< points that miss only this one
  std::optional<FoundPoint> nearest;  ///< of those, the one that misses by least
  double nearest_left = 0;  ///< the left side there: relaxing the constraint to this admits the point
  std::string need;         ///< nearest_left in words: "612 ms"
  std::string relaxation;   ///< "ttft <= 612 ms instead of 500 ms admits #17 (...)"
};

/// Why nothing is feasible, over all points that were evaluated.
struct Conflict {
  /// A smallest set of constraints that no point meets together: without any one of them some point meets the
  /// rest.
  std::vector<std::string> constraints;
  std::optional<FoundPoint>
      nearest;  ///< the point that misses the fewest constraints and, of these, by least in ratio
  std::vector<std::string>
      relaxations;  ///< what admits it: "ttft at 612 ms instead of 500 ms", one per constraint it misses
};

struct Histogram {
  std::string text;
  std::string_view unit;
  Exponents exps{};
  /// Counts by octave quarter: bin k holds values in [2^(k/4), 2^((k+1)/4)) of the base unit; others by sign.
  std::vector<std::pair<int, double>> bins;
  double zero_or_less = 0;
};

/// Answer to a question about a space.
struct ExploreAnswer {
  std::string title;
  std::vector<std::string> axes;
  std::vector<ObjectiveExpression> objectives;
  std::vector<std::string> units;  ///< display units of the objectives
  std::vector<Exponents> exps;
  std::vector<std::string> show;
  std::vector<std::string> show_units;
  std::vector<Exponents> show_exps;
  double total = 0;      ///< points of the space (of this shard)
  double evaluated = 0;  ///< points whose numbers were computed
  double covered = 0;    ///< points that the answer covers: evaluated, skipped, or excluded by a bound
  double feasible = 0, infeasible = 0, not_finite = 0, skipped = 0;
  std::vector<std::pair<std::string, double>> skip_reasons;
  std::vector<ConstraintCount> constraints;
  std::vector<FoundPoint> best;   ///< one objective: best first
  std::vector<FoundPoint> front;  ///< several: the non-dominated points by index
  std::optional<Histogram> histogram;
  std::optional<Conflict> conflict;  ///< where nothing is feasible and every point was looked at
  std::string method;                ///< of a heuristic strategy: what was done, in words
  Exactness exactness = Exactness::enumerated;
  bool complete = true;  ///< false when it was cancelled
  // Certificate of branch and bound.
  double boxes = 0;  ///< boxes that were bounded
  double bound = 0;  ///< no point of the space is better than this (base unit)
  double seconds = 0;
  unsigned threads = 1;
  bool one_by_one = false;  ///< the subject is not safe on several threads
  std::vector<Assumption> assumptions;
  std::vector<std::string> warnings;  ///< `shared_warnings` of the points that are listed
  std::string state;                  ///< for `merge`; exact

  /// Why nothing is feasible: which constraints conflict, and the smallest relaxation of each that helps
  /// alone.
  [[nodiscard]] Infeasible why_infeasible() const;
  /// Volume dominated by the front between it and `reference`, in the base units of the objectives (maximised
  /// ones count downwards from the reference). @throws InputError for fewer than two objectives or a
  /// reference of another size
  [[nodiscard]] double hypervolume(std::span<const double> reference) const;
  /// The worst value of each objective on the front, base units; empty without a front.
  [[nodiscard]] std::vector<double> nadir() const;
  /// The best value of each objective on the front, base units.
  [[nodiscard]] std::vector<double> ideal() const;
  /// Hypervolume against the nadir over the box from ideal to nadir: 0 for a front of two points, towards 1
  /// for one that bends far to the ideal. Needs no reference. Empty for fronts that span no box.
  [[nodiscard]] std::optional<double> relative_hypervolume() const;
};

/// Points that are asked for their warnings.
inline constexpr std::size_t kMostWarned = 256;

/// The warnings of points, each once; those that not all points have name the points.
/// @param of the first points of a list, by index @param listed how many there are in all
[[nodiscard]] std::vector<std::string> shared_warnings(
    std::span<const std::pair<std::uint64_t, std::vector<std::string>>> of, std::size_t listed);

/// Searches a space.
/// @throws InputError, LookupError, DimensionError for a question that does not read; SolverError for a
/// strategy that the
///         subject or the question does not allow
[[nodiscard]] ExploreAnswer explore(const Space& space, const Question& question,
                                    const ExploreOptions& options = {});

/// Joins the answers of all shards of one question into the answer of one run.
/// @throws InputError when the states are of different questions, versions or figures, or parts are missing
/// or twice
[[nodiscard]] ExploreAnswer merge(const Space& space, const Question& question,
                                  std::span<const std::string> states);

/// Everything that the answer depends on, as a 64-bit digest in hex.
[[nodiscard]] std::string digest_of(const Space& space, const Question& question);

/// Points [first, last) of a space.
struct PointRange {
  std::uint64_t first = 0, last = 0;
};
/// The points of part `shard` of `shards`, from 1, in index order. @throws InputError when there is no such
/// part
[[nodiscard]] PointRange shard_range(std::uint64_t points, std::uint64_t shard, std::uint64_t shards);

/// Receives rows in index order: axis values and shown values in base units, `feasible` per point.
struct RowBlock {
  std::uint64_t first = 0;
  std::size_t points = 0;
  std::span<const double* const> shown;  ///< one column per entry of `show`
  std::span<const std::uint8_t> feasible;
  std::string_view skipped;  ///< reason, for points that have no numbers; else empty
};
/// Evaluates points [first, last) in order, one thread, and hands them over block by block.
void visit_points(const Space& space, const Question& question, std::uint64_t first, std::uint64_t last,
                  const std::function<void(const RowBlock&)>& take);
/// Points as text, in pieces that threads share.
/// @param threads 0: as many as there are cores
/// @param append  adds the text of a block; called on several threads at once
/// @param take    gets the texts in the order of their points, each with the point behind it; called on this
/// thread
void write_points(const Space& space, const Question& question, PointRange range, unsigned threads,
                  const std::function<void(const RowBlock&, std::string& text)>& append,
                  const std::function<void(std::uint64_t next, std::string_view text)>& take);

}  // namespace mlsysim
