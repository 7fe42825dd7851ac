#include "explore/search/search.hpp"
#include "explore/search/threads.hpp"

#include <mlsysim/explore/search/parts.hpp>
#include <mlsysim/tape/ranges.hpp>
#include <mlsysim/units/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <queue>

namespace mlsysim::detail {
namespace {

// Boxes of fewer points are evaluated, not split: a bound costs as much as some dozens of points of a batch,
// and as much as a thousand that follow one another, because these share most of their work. In a small space
// a bound of a small part still saves the rest. A box of points apart fits in one block.
constexpr std::uint64_t kLeastLeaf = 64, kMostLeaf = 96, kLeaves = 64, kMostRow = 8192, kRows = 16;
static_assert(kMostLeaf <= PointKernel::kBlock);
constexpr double kSlack = 1e-12;  // interval ends are not rounded outward
constexpr std::size_t kMostAxes = 16;
// Axes of so few rows are divided into rows.
constexpr std::uint32_t kFewRows = 4, kFewCoupled = 32;
constexpr std::size_t kPieces = 8, kShareEvery = 32;  // of a worker at the start; boxes between two exchanges
constexpr std::size_t kKernels = 32;                  // subjects whose block buffers are at hand at once

/// A box of rows of one subject.
struct Box {
  double bound = 0;
  std::uint64_t first = 0;  ///< lowest index inside
  std::uint32_t outer = 0;
  std::array<std::uint32_t, kMostAxes> low{}, high{};  ///< rows [low, high) per axis over numbers
  std::array<double, kMostAxes>
      gain{};  ///< by how much halving an axis raised the bound when it was last tried

  friend bool operator<(const Box& a, const Box& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.first > b.first;
  }
};

class Searcher {
 public:
  Searcher(const Space& space, const Question& question, const ExploreOptions& options,
           std::size_t constraints)
      : space_(space),
        axes_(space.axes().size() - space.structural_axes()),
        leaf_(std::clamp(space.inner() / kLeaves, kLeastLeaf, kMostLeaf)),
        row_leaf_(std::clamp(space.inner() / kRows, kLeastLeaf, kMostRow)) {
    result.reduction = Reduction(question, constraints);
    result.range = {0, space.size()};
    std::uint64_t stride = space.inner();
    for (std::size_t a = 0; a < axes_; ++a) {
      sizes_[a] = static_cast<std::uint32_t>(space.axes()[space.structural_axes() + a].size());
      stride /= sizes_[a];
      strides_[a] = stride;
      coupled_[a] = space.axes()[space.structural_axes() + a].names.size() > 1;
    }
    for (std::uint64_t k = 0; k < std::min<std::uint64_t>(space.outer(), kKernels); ++k)
      kernels_.push_back({PointKernel(space, question), kNone});
    const auto reasons = bind_all(question, options);
    for (std::uint64_t outer = 0; outer < space.outer(); ++outer) {
      if (!reasons[outer].empty()) {
        result.reduction.skip(reasons[outer], static_cast<double>(space.inner()));
        continue;
      }
      Box root{.outer = static_cast<std::uint32_t>(outer)};
      for (std::size_t a = 0; a < axes_; ++a) root.high[a] = sizes_[a];
      root.gain.fill(HUGE_VAL);
      root.first = first_index(root);
      bound(root);
      if (!gone(root)) queue_.push(root);
    }
  }

  void run(const ExploreOptions& options, double most_boxes) {
    std::optional<Box> deeper;  // until there is a best point, straight down to one that may be good
    while (deeper || !queue_.empty()) {
      if (result.boxes > most_boxes ||
          (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)))
        break;
      Box box;
      if (deeper) {
        box = *deeper;
        deeper.reset();
      } else {
        box = queue_.top();
        queue_.pop();
      }
      if (share_ && ++since_ % kShareEvery == 0) hear();
      if (beaten(box)) continue;  // the queue is in order of bounds, so only ties remain to be looked at
      if (points_in(box) <= (is_row(box) ? row_leaf_ : leaf_)) {
        evaluate(box);
        continue;
      }
      deeper = split(box);
    }
    if (deeper) queue_.push(*deeper);
    const auto& best = result.reduction.top.entries();
    result.proven = queue_.empty();
    result.bound = queue_.empty() ? (best.empty() ? HUGE_VAL : best[0].first) : queue_.top().bound;
    if (!best.empty()) result.bound = std::min(result.bound, best[0].first);
  }

  /// Keeps part `part` of `parts` of what there is to search, the same boxes whoever asks.
  void keep_part(std::uint64_t part, std::uint64_t parts, const ShareBest& share) {
    share_ = share;
    std::vector<Box> boxes;
    for (; !queue_.empty(); queue_.pop()) boxes.push_back(queue_.top());
    while (boxes.size() < kPieces * parts) {
      const auto widest = std::max_element(boxes.begin(), boxes.end(), [this](const Box& a, const Box& b) {
        return points_in(a) != points_in(b) ? points_in(a) < points_in(b) : a.first > b.first;
      });
      if (widest == boxes.end() || points_in(*widest) <= leaf_) break;
      const Box box = *widest;
      boxes.erase(widest);
      divide(box, most_promising(box, open_axes(box)));
      for (Box& piece : parts_) {
        bound(piece);
        if (piece.bound < HUGE_VAL) boxes.push_back(piece);
      }
    }
    // In order of their bounds, so that every worker begins with boxes that may be good.
    std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return b < a; });
    for (std::size_t k = part - 1; k < boxes.size(); k += parts) queue_.push(boxes[k]);
  }

  SearchResult result;

 private:
  /// Hears of what other workers have found, and says what this one has.
  void hear() {
    const auto& best = result.reduction.top.entries();
    others_ = share_(best.empty() ? HUGE_VAL : best[0].first);
  }

  /// One choice of the structural axes.
  struct Bound {
    std::shared_ptr<const Subject> subject;
    std::shared_ptr<const Compiled> compiled;
    std::vector<Space::Column> columns;
    std::vector<std::size_t> axes;  ///< of the columns
    std::vector<bool> ascending;    ///< by column
    std::unique_ptr<Ranges> ranges;
  };
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  struct Kernel {
    PointKernel points;
    std::uint64_t outer;  ///< whose subject it holds; kNone for none
  };

  /// Records the laws of all subjects, which is most of the work in a small space, on several threads.
  /// @return why there is none, by subject
  std::vector<std::string> bind_all(const Question& question, const ExploreOptions& options) {
    subjects_.resize(space_.outer());
    std::vector<std::string> reasons(space_.outer());
    std::atomic<std::uint64_t> next{0};
    on_threads(threads_for(space_, options, space_.outer()), [&](unsigned) {
      PointKernel kernel(space_, question);
      for (std::uint64_t outer; (outer = next.fetch_add(1)) < space_.outer();) {
        reasons[outer] = kernel.bind(outer);
        if (reasons[outer].empty()) remember(space_, subjects_[outer], kernel);
      }
    });
    return reasons;
  }

  static void remember(const Space& space, Bound& to, const PointKernel& kernel) {
    to.subject = kernel.shared_subject();
    to.compiled = kernel.shared_compiled();
    to.columns = kernel.columns();
    to.axes = axes_of_columns(space, to.columns);
    for (const auto& c : to.columns) to.ascending.push_back(c.values.ascending());
    to.ranges = std::make_unique<Ranges>(to.compiled->tape);
  }

  [[nodiscard]] std::uint64_t first_index(const Box& b) const {
    std::uint64_t at = b.outer * space_.inner();
    for (std::size_t a = 0; a < axes_; ++a) at += b.low[a] * strides_[a];
    return at;
  }
  [[nodiscard]] std::uint64_t points_in(const Box& b) const {
    std::uint64_t n = 1;
    for (std::size_t a = 0; a < axes_; ++a) n *= b.high[a] - b.low[a];
    return n;
  }
  /// Whether the points of a box follow one another: single rows of slow axes, then some of one, then all of
  /// the fast ones.
  [[nodiscard]] bool is_row(const Box& b) const {
    std::size_t a = axes_;
    while (a > 0 && b.high[a - 1] - b.low[a - 1] == sizes_[a - 1]) --a;
    for (std::size_t slow = 0; slow + 1 < a; ++slow)
      if (b.high[slow] - b.low[slow] != 1) return false;
    return true;
  }

  /// No point of the box can replace the best: it is worse, or as good with a higher index.
  [[nodiscard]] bool beaten(const Box& b) const {
    // Of what others found only the value is known, so that a tie is still looked at.
    if (b.bound > others_ + kSlack * std::fabs(others_)) return true;
    const auto& best = result.reduction.top.entries();
    if (best.empty()) return false;
    const double slack = kSlack * std::fabs(best[0].first);
    if (b.bound > best[0].first + slack) return true;
    return b.bound >= best[0].first - slack && b.first > best[0].second;
  }
  /// The box holds nothing that is looked for.
  [[nodiscard]] bool gone(const Box& b) const { return b.bound == HUGE_VAL || beaten(b); }

  /// Sets the bound of a box; infinite where no point of it meets the constraints.
  void bound(Box& box) {
    const Bound& s = subjects_[box.outer];
    box_.resize(s.columns.size());
    for (std::size_t k = 0; k < s.columns.size(); ++k) {
      const auto& c = s.columns[k];
      const std::size_t first = box.low[s.axes[k]], last = box.high[s.axes[k]];
      if (s.ascending[k]) {
        box_[k] = Interval(c.values[first], c.values[last - 1]);
        continue;
      }
      const auto [low, high] = c.values.extent(first, last);
      box_[k] = Interval(low, high);
    }
    Ranges& ranges = *s.ranges;
    const Compiled& q = *s.compiled;
    ++result.boxes;
    box.bound = HUGE_VAL;
    ranges.run(box_);
    for (std::size_t c = 0; c < q.constraints.size(); ++c)
      if (!q.constraints[c].possible(ranges.result(q.left_at(c)), ranges.result(q.right_at(c)))) return;
    const auto least = [&](const Interval& objective) {
      const double low = q.signs[0] > 0 ? objective.low : -objective.high;
      return std::isnan(low) ? -HUGE_VAL : low;
    };
    box.bound = least(ranges.result(q.objective_at(0)));
    // The ends of monotone inputs cost four more runs: for boxes that the first bound does not drop.
    if (!gone(box)) box.bound = least(ranges.tight(q.objective_at(0), box_));
  }

  /// Divides a box where that raises the bound of the loosest part most, and keeps what may hold something.
  /// Axes are tried in order of what they brought when they were last tried, until none promises more; one of
  /// which half falls away ends it. An axis that couples inputs comes first, because a box of its rows is
  /// bounded by all combinations of what they hold.
  /// @return as long as there is no best point, the best part, which is then not kept in the queue
  [[nodiscard]] std::optional<Box> split(Box& box) {
    std::uint32_t open = open_axes(box);
    double most = -1;
    for (;;) {
      const std::size_t a = most_promising(box, open);
      if (a == kMostAxes || (most >= 0 && box.gain[a] <= most)) break;
      open &= ~(1u << a);
      divide(box, a);
      double loosest = HUGE_VAL;
      std::size_t fallen = 0;
      for (Box& part : parts_) {
        bound(part);
        loosest = std::min(loosest, part.bound);
        fallen += gone(part) ? 1 : 0;
      }
      box.gain[a] = gain(box.bound, loosest);
      const bool enough = 2 * fallen >= parts_.size();
      if (enough || box.gain[a] > most) {
        most = box.gain[a];
        chosen_.swap(parts_);
      }
      if (enough) break;
    }
    for (Box& part : chosen_) part.gain = box.gain;
    return keep();
  }

  /// The parts of a box along an axis: its halves, or its rows where there are few. Single rows have the
  /// tightest bounds, and ranges of coupled rows hardly any.
  void divide(const Box& box, std::size_t axis) {
    parts_.clear();
    const std::uint32_t rows = box.high[axis] - box.low[axis];
    const std::uint32_t count = rows <= (coupled_[axis] ? kFewCoupled : kFewRows) ? rows : 2;
    for (std::uint32_t k = 0; k < count; ++k) {
      Box& part = parts_.emplace_back(box);
      part.low[axis] = box.low[axis] + rows * k / count;
      part.high[axis] = box.low[axis] + rows * (k + 1) / count;
      part.first = first_index(part);
    }
  }

  /// Axes of several rows, as bits; where some of them couple inputs, only those.
  [[nodiscard]] std::uint32_t open_axes(const Box& box) const {
    std::uint32_t open = 0, coupled = 0;
    for (std::size_t a = 0; a < axes_; ++a) {
      if (box.high[a] - box.low[a] < 2) continue;
      open |= 1u << a;
      if (coupled_[a]) coupled |= 1u << a;
    }
    return coupled != 0 ? coupled : open;
  }
  /// The axis whose splits gained most; among equals the one with most rows. kMostAxes if there are none.
  [[nodiscard]] std::size_t most_promising(const Box& box, std::uint32_t open) const {
    std::size_t best = kMostAxes;
    const auto rows = [&](std::size_t a) { return box.high[a] - box.low[a]; };
    for (std::size_t a = 0; a < axes_; ++a) {
      if ((open >> a & 1u) == 0) continue;
      if (best == kMostAxes || box.gain[a] > box.gain[best] ||
          (box.gain[a] == box.gain[best] && rows(a) > rows(best)))
        best = a;
    }
    return best;
  }
  [[nodiscard]] static double gain(double before, double after) {
    if (!(after > before)) return 0;
    return before > -HUGE_VAL ? after - before : HUGE_VAL;
  }

  /// Queues the chosen parts.
  [[nodiscard]] std::optional<Box> keep() {
    std::erase_if(chosen_, [&](const Box& part) { return gone(part); });
    std::optional<Box> deeper;
    if (!chosen_.empty() && result.reduction.top.entries().empty()) {
      const auto best = std::max_element(chosen_.begin(), chosen_.end());  // in the queue's order
      deeper = *best;
      chosen_.erase(best);
    }
    for (const Box& part : chosen_) queue_.push(part);
    return deeper;
  }

  void evaluate(const Box& box) {
    Kernel& kernel = kernels_[box.outer % kernels_.size()];
    if (kernel.outer != box.outer) {
      kernel.points.use(subjects_[box.outer].subject, subjects_[box.outer].compiled);
      kernel.outer = box.outer;
    }
    if (is_row(box)) {
      const std::uint64_t first = first_index(box), at = first - box.outer * space_.inner(),
                          points = points_in(box);
      for (std::uint64_t done = 0; done < points; done += kernel.points.points()) {
        kernel.points.run(
            at + done, static_cast<std::size_t>(std::min<std::uint64_t>(PointKernel::kBlock, points - done)));
        result.reduction.add(kernel.points, first + done);
      }
      return;
    }
    kernel.points.run(std::span(box.low).first(axes_), std::span(box.high).first(axes_),
                      subjects_[box.outer].axes);
    indices_.clear();
    std::array<std::uint32_t, kMostAxes> row = box.low;
    for (std::uint64_t left = points_in(box); left > 0; --left) {
      std::uint64_t at = box.outer * space_.inner();
      for (std::size_t a = 0; a < axes_; ++a) at += row[a] * strides_[a];
      indices_.push_back(at);
      for (std::size_t a = axes_; a-- > 0;) {
        if (++row[a] < box.high[a]) break;
        row[a] = box.low[a];
      }
    }
    result.reduction.add(kernel.points, indices_);
  }

  const Space& space_;
  std::size_t axes_;
  std::uint64_t leaf_;      ///< most points of a box that is evaluated
  std::uint64_t row_leaf_;  ///< the same where they follow one another
  std::array<std::uint64_t, kMostAxes> strides_{};
  std::array<std::uint32_t, kMostAxes> sizes_{};
  std::array<bool, kMostAxes> coupled_{};  ///< a row of it sets several inputs
  std::vector<Bound> subjects_;
  std::vector<Kernel> kernels_;
  std::priority_queue<Box> queue_;
  std::vector<Box> parts_, chosen_;  ///< of the box that is being split
  std::vector<Interval> box_;
  ShareBest share_{};
  double others_ = HUGE_VAL;
  std::size_t since_ = 0;
  std::vector<std::uint64_t> indices_;
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

SearchResult branch_and_bound(const Space& space, const Question& question, const ExploreOptions& options,
                              double most_boxes) {
  const auto began = std::chrono::steady_clock::now();
  Searcher search(space, question, options, constraint_texts(question, space.sample().entry).size());
  search.run(options, most_boxes);
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
