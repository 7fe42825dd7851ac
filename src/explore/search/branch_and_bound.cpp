#include "explore/search/box_worker.hpp"
#include "explore/search/search.hpp"
#include "explore/search/threads.hpp"

#include <mlsysim/explore/search/parts.hpp>
#include <mlsysim/units/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <queue>

namespace mlsysim::detail {
namespace {

constexpr std::size_t kPieces = 8;       // of a worker that shares a search, at the start
constexpr std::size_t kShareEvery = 32;  // boxes between two exchanges with other workers
// Boxes that threads share before they know what the others found: more where many wait, because few of these
// would be dropped, and threads wait for one another less often.
constexpr std::size_t kRound = 16, kMostRound = 256, kWaiting = 8;

/// Takes the best boxes of a queue in rounds. The boxes of a round know the best point of the rounds before,
/// so that the answer and its counts are the same on any number of threads.
class Searcher {
 public:
  Searcher(const Space& space, const Question& question, const ExploreOptions& options,
           std::size_t constraints)
      : grid_(space),
        question_(question),
        subjects_(space.outer()),
        used_(space.outer()),
        most_held_(options.tape_operations) {
    result.reduction = Reduction(question, constraints);
    result.range = {0, space.size()};
    result.threads = threads_for(space, options, std::max<std::uint64_t>(space.outer(), kRound));
    for (unsigned t = 0; t < result.threads; ++t)
      workers_.emplace_back(std::make_unique<BoxWorker>(grid_, subjects_, question, constraints));
    bind_all(options.cancel);
  }

  void run(const ExploreOptions& options, double most_boxes) {
    if (share_) hear();  // others may have begun before
    while (deeper_ || !queue_.empty()) {
      if (boxes() > most_boxes ||
          (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)))
        break;
      round();
      since_ += taken_.size();
      if (share_ && since_ >= kShareEvery) hear();
    }
    if (deeper_) queue_.push(*deeper_);
    for (const auto& w : workers_) result.reduction.merge(w->reduction);
    result.boxes = boxes();
    result.proven = queue_.empty() && bound_;
    result.bound = std::min(!bound_          ? -HUGE_VAL
                            : queue_.empty() ? HUGE_VAL
                                             : queue_.top().bound,
                            best_.value);
  }

  /// Keeps part `part` of `parts` of what there is to search, the same boxes whoever asks.
  void keep_part(std::uint64_t part, std::uint64_t parts, const ShareBest& share) {
    share_ = share;
    std::vector<Box> boxes;
    for (; !queue_.empty(); queue_.pop()) boxes.push_back(queue_.top());
    while (boxes.size() < kPieces * parts) {
      const auto widest = std::max_element(boxes.begin(), boxes.end(), [this](const Box& a, const Box& b) {
        const auto of_a = grid_.points_in(a), of_b = grid_.points_in(b);
        return of_a != of_b ? of_a < of_b : a.first > b.first;
      });
      if (widest == boxes.end() || grid_.points_in(*widest) <= grid_.leaf()) break;
      taken_.assign(1, *widest);
      bind_taken();
      const auto pieces = workers_[0]->pieces(*widest);
      boxes.erase(widest);
      boxes.insert(boxes.end(), pieces.begin(), pieces.end());
    }
    // In order of their bounds, so that every worker begins with boxes that may be good.
    std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return b < a; });
    for (std::size_t k = part - 1; k < boxes.size(); k += parts) queue_.push(boxes[k]);
  }

  /// How many boxes cost as much as evaluating every point. A bound walks over the tape four times, and a
  /// node takes as long as 60 additions of a batch; a point costs its share of the rows that it lies in, and
  /// some additions until it is counted.
  [[nodiscard]] double worth() const {
    constexpr double node = 4 * 60, counted = 80, least = 1000;
    const auto some = std::find_if(subjects_.begin(), subjects_.end(),
                                   [](const Bound& s) { return s.compiled != nullptr; });
    if (some == subjects_.end()) return least;
    const Compiled& law = *some->compiled;
    return std::max(least, static_cast<double>(grid_.space.size()) * (law.grid().work_per_point() + counted) /
                               (node * static_cast<double>(law.tape.size())));
  }

  SearchResult result;

 private:
  /// Hears of what other workers have found, and says what this one has.
  void hear() {
    since_ = 0;
    best_.others = share_(best_.value);
  }

  [[nodiscard]] double boxes() const {
    double n = 0;
    for (const auto& w : workers_) n += w->boxes;
    return n;
  }

  /// Records the laws of all subjects, which is most of the work in a small space, and bounds them.
  void bind_all(const std::atomic<bool>* cancel) {
    const Space& space = grid_.space;
    std::vector<std::string> reasons(space.outer());
    std::vector<Box> roots(space.outer());
    std::vector<std::uint8_t> bound(space.outer());
    std::atomic<std::uint64_t> next{0};
    std::atomic<std::size_t> held{0};
    on_threads(static_cast<unsigned>(std::min<std::uint64_t>(workers_.size(), space.outer())),
               [&](unsigned t) {
                 PointKernel kernel(space, question_);
                 for (std::uint64_t outer; (outer = next.fetch_add(1)) < space.outer();) {
                   if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) break;
                   bound[outer] = 1;
                   reasons[outer] = kernel.bind(outer);
                   if (!reasons[outer].empty()) continue;
                   subjects_[outer].remember(space, kernel);
                   roots[outer] = workers_[t]->root(outer);
                   const std::size_t more = subjects_[outer].operations();
                   if (roots[outer].bound < HUGE_VAL && held.fetch_add(more) + more <= most_held_) continue;
                   if (roots[outer].bound < HUGE_VAL) held.fetch_sub(more);
                   let_go(outer);
                 }
               });
    held_ = held;
    for (std::uint64_t outer = 0; outer < space.outer(); ++outer) {
      if (bound[outer] == 0)
        bound_ = false;
      else if (!reasons[outer].empty())
        result.reduction.skip(reasons[outer], static_cast<double>(space.inner()));
      else if (roots[outer].bound < HUGE_VAL)
        queue_.push(roots[outer]);
    }
  }

  void let_go(std::uint64_t outer) {
    subjects_[outer] = {};
    for (const auto& w : workers_) w->forget(outer);
  }

  /// Records the laws of the boxes that are taken where they are not held, and lets go of others, those that
  /// were asked for longest ago first.
  void bind_taken() {
    ++rounds_;
    std::vector<std::uint64_t> absent;
    for (const Box& box : taken_) {
      if (used_[box.outer] != rounds_ && !subjects_[box.outer].held()) absent.push_back(box.outer);
      used_[box.outer] = rounds_;
    }
    if (absent.empty()) return;
    std::atomic<std::size_t> next{0};
    on_threads(static_cast<unsigned>(std::min(workers_.size(), absent.size())), [&](unsigned) {
      PointKernel kernel(grid_.space, question_);
      for (std::size_t k; (k = next.fetch_add(1)) < absent.size();)
        if (kernel.bind(absent[k]).empty()) subjects_[absent[k]].remember(grid_.space, kernel);
    });
    for (const std::uint64_t outer : absent) held_ += subjects_[outer].operations();
    if (held_ <= most_held_) return;
    std::vector<std::uint64_t> idle;
    for (std::uint64_t outer = 0; outer < subjects_.size(); ++outer)
      if (subjects_[outer].held() && used_[outer] != rounds_) idle.push_back(outer);
    std::stable_sort(idle.begin(), idle.end(),
                     [this](std::uint64_t a, std::uint64_t b) { return used_[a] < used_[b]; });
    for (const std::uint64_t outer : idle) {
      if (held_ <= most_held_) return;
      held_ -= subjects_[outer].operations();
      let_go(outer);
    }
  }

  /// Works on the best boxes; as long as there is no best point, on the best part of the last one alone.
  void round() {
    taken_.clear();
    const std::size_t most = best_.known() ? std::clamp(queue_.size() / kWaiting, kRound, kMostRound) : 1;
    while (taken_.size() < most && (deeper_ || !queue_.empty())) {
      if (deeper_) {
        taken_.push_back(*deeper_);
        deeper_.reset();
        continue;
      }
      // The queue is in order of bounds, so only ties remain to be looked at.
      if (!best_.beats(queue_.top())) taken_.push_back(queue_.top());
      queue_.pop();
    }
    bind_taken();
    parts_.assign(taken_.size(), {});
    std::atomic<std::size_t> next{0};
    on_threads(static_cast<unsigned>(std::min(workers_.size(), taken_.size())), [&](unsigned t) {
      for (std::size_t k; (k = next.fetch_add(1)) < taken_.size();)
        parts_[k] = workers_[t]->work_on(taken_[k], best_);
    });
    for (const auto& w : workers_) best_.take(w->reduction);
    if (!best_.known() && !parts_.empty() && !parts_[0].empty()) {
      const auto best = std::max_element(parts_[0].begin(), parts_[0].end());  // in the queue's order
      deeper_ = *best;
      parts_[0].erase(best);
    }
    for (const auto& parts : parts_)
      for (const Box& part : parts) queue_.push(part);
  }

  Grid grid_;
  const Question& question_;
  std::vector<Bound> subjects_;      ///< of them those without a box, and those beyond a limit, are not held
  std::vector<std::uint64_t> used_;  ///< round in which the last box of each was taken
  std::uint64_t rounds_ = 0;
  std::size_t held_ = 0, most_held_;  ///< operations of the tapes of all
  bool bound_ = true;                 ///< all of them are; false where the search was cancelled before
  std::vector<std::unique_ptr<BoxWorker>> workers_;
  std::priority_queue<Box> queue_;
  Incumbent best_;
  ShareBest share_{};
  std::size_t since_ = 0;  ///< boxes since the last exchange
  std::optional<Box> deeper_;
  std::vector<Box> taken_;
  std::vector<std::vector<Box>> parts_;  ///< of each box that was taken
};

}  // namespace

std::string no_bounds(const Space& space, const Question& question, const ExploreOptions& options) {
  if (question.objectives.size() != 1) return "branch and bound needs one objective";
  if (question.top != 1) return "branch and bound keeps the best point only";
  if (question.histogram) return "a histogram needs every point";
  if (!space.sample().entry.is_law()) return "the subject has no bounds: it is not a law";
  if (options.shards != 1 || !options.resume.empty() || options.checkpoint)
    return "shards and restarts belong to an exhaustive search";
  if (space.outer() > 65536) return "there are more than 65536 choices of the structural axes";
  if (space.axes().size() - space.structural_axes() > kMostAxes)
    return "there are more than 16 axes over numbers";
  return {};
}

SearchResult branch_and_bound(const Space& space, const Question& question, const ExploreOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  Searcher search(space, question, options, constraint_texts(question, space.sample().entry).size());
  search.run(options, options.strategy == Strategy::branch_and_bound ? HUGE_VAL : search.worth());
  auto& out = search.result;
  out.next = out.proven ? space.size() : 0;
  out.complete = out.proven;
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return std::move(out);
}

}  // namespace mlsysim::detail

namespace mlsysim {

std::string no_shared_bounds(const Space& space, const Question& question) {
  return detail::no_bounds(space, question, {});
}

BoundedPart bounded_part(const Space& space, const Question& question, const ExploreOptions& options,
                         std::uint64_t part, std::uint64_t parts, const ShareBest& share) {
  if (const auto obstacle = no_shared_bounds(space, question); !obstacle.empty())
    throw SolverError({.id = "mlsysim.explore.090",
                       .message = "workers cannot share bounds here",
                       .found = obstacle,
                       .expected = "one objective over a subject with bounds",
                       .hint = "leave --strategy out: every point is looked at"});
  (void)shard_range(space.size(), part, parts);  // refuses a part that there is not
  detail::Searcher search(space, question, options,
                          detail::constraint_texts(question, space.sample().entry).size());
  search.keep_part(part, parts, share);
  search.run(options, HUGE_VAL);
  const auto& r = search.result;
  const auto& best = r.reduction.top.entries();
  BoundedPart out{
      .value = HUGE_VAL, .boxes = r.boxes, .evaluated = r.reduction.evaluated, .proven = r.proven};
  if (!best.empty()) {
    out.value = best[0].first;
    out.index = best[0].second;
  }
  return out;
}

}  // namespace mlsysim
