#include "detail/search.hpp"

#include <mlsysim/units/error.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <queue>

namespace mlsysim::detail {
namespace {

// Boxes of fewer points are evaluated, not split: a bound costs as much as a few hundred points of a batch. In a small
// space a bound of a small part still saves the rest.
constexpr std::uint64_t kLeastLeaf = 64, kMostLeaf = 1024, kLeaves = 64;
constexpr double kSlack = 1e-12;        // interval ends are not rounded outward
constexpr std::size_t kMostAxes = 16;

/// A box of rows of one subject.
struct Box {
  double bound = 0;
  std::uint64_t first = 0;  ///< lowest index inside
  std::uint32_t outer = 0;
  std::array<std::uint32_t, kMostAxes> low{}, high{};  ///< rows [low, high) per axis over numbers

  friend bool operator<(const Box& a, const Box& b) { return a.bound != b.bound ? a.bound > b.bound : a.first > b.first; }
};

class Searcher {
 public:
  Searcher(const Space& space, const Question& question, std::size_t constraints)
      : space_(space), kernel_(space, question), axes_(space.axes().size() - space.structural_axes()),
        leaf_(std::clamp(space.inner() / kLeaves, kLeastLeaf, kMostLeaf)) {
    result.reduction = Reduction(question, constraints);
    result.range = {0, space.size()};
    std::uint64_t stride = space.inner();
    for (std::size_t a = 0; a < axes_; ++a) {
      sizes_[a] = static_cast<std::uint32_t>(space.axes()[space.structural_axes() + a].size());
      stride /= sizes_[a];
      strides_[a] = stride;
      coupled_[a] = space.axes()[space.structural_axes() + a].names.size() > 1;
    }
    for (std::uint64_t outer = 0; outer < space.outer(); ++outer) {
      subjects_.push_back({});
      const std::string reason = kernel_.bind(outer);
      if (!reason.empty()) {
        result.reduction.skip(reason, static_cast<double>(space.inner()));
        continue;
      }
      auto& s = subjects_.back();
      s.subject = std::make_shared<const Subject>(kernel_.subject());
      s.compiled = std::make_shared<const Compiled>(kernel_.compiled());
      s.columns = kernel_.columns();
      current_ = static_cast<std::uint32_t>(outer);
      Box root{.outer = current_};
      for (std::size_t a = 0; a < axes_; ++a) root.high[a] = sizes_[a];
      root.first = first_index(root);
      push(root);
    }
  }

  void run(const ExploreOptions& options, double most_boxes) {
    while (!queue_.empty()) {
      const Box box = queue_.top();
      if (beaten(box)) {
        // The queue is in order of bounds, so only ties remain to be looked at.
        queue_.pop();
        continue;
      }
      if (result.boxes > most_boxes || (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed))) break;
      queue_.pop();
      if (points_in(box) <= leaf_) {
        evaluate(box);
        continue;
      }
      split(box);
    }
    const auto& best = result.reduction.top.entries();
    result.proven = queue_.empty();
    result.bound = queue_.empty() ? (best.empty() ? HUGE_VAL : best[0].first) : queue_.top().bound;
    if (!best.empty()) result.bound = std::min(result.bound, best[0].first);
  }

  SearchResult result;

 private:
  struct Bound {
    std::shared_ptr<const Subject> subject;
    std::shared_ptr<const Compiled> compiled;
    std::vector<Space::Column> columns;
  };

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

  /// No point of the box can replace the best: it is worse, or as good with a higher index.
  [[nodiscard]] bool beaten(const Box& b) const {
    const auto& best = result.reduction.top.entries();
    if (best.empty()) return false;
    const double slack = kSlack * std::fabs(best[0].first);
    if (b.bound > best[0].first + slack) return true;
    return b.bound >= best[0].first - slack && b.first > best[0].second;
  }

  /// Bounds a box and keeps it if it may hold something.
  void push(Box& box) {
    bound(box);
    if (box.bound < HUGE_VAL && !beaten(box)) queue_.push(box);
  }

  /// Sets the bound of a box; infinite where no point of it meets the constraints.
  void bound(Box& box) {
    const Bound& s = subjects_[box.outer];
    const LawEntry& law = s.subject->entry;
    const std::size_t n_in = law.inputs.size();
    slots_.resize(n_in + law.results.size());
    for (std::size_t i = 0; i < n_in; ++i) slots_[i] = Interval(s.subject->point[i]);
    for (const auto& c : s.columns) {
      const std::size_t a = axis_of(c);
      const auto [low, high] = std::minmax_element(c.values.begin() + box.low[a], c.values.begin() + box.high[a]);
      slots_[c.input] = Interval(*low, *high);
    }
    law.interval(law.self.get(), slots_.data(), slots_.data() + n_in);
    ++result.boxes;
    const std::span<const Interval> slots(slots_);
    box.bound = HUGE_VAL;
    for (const auto& c : s.compiled->constraints)
      if (!c.possible(c.left()(slots), c.right()(slots))) return;
    const Interval objective = s.compiled->objectives[0](slots);
    const double low = s.compiled->signs[0] > 0 ? objective.low : -objective.high;
    box.bound = std::isnan(low) ? -HUGE_VAL : low;
  }

  [[nodiscard]] std::size_t axis_of(const Space::Column& c) const {
    // Axes of one row share a stride with their neighbour; the row count tells them apart.
    for (std::size_t a = 0; a < axes_; ++a)
      if (strides_[a] == c.stride && sizes_[a] == c.values.size()) return a;
    return 0;
  }

  /// In half along the axis that raises the bound of the looser half most. One that couples inputs comes first, because a
  /// box of its rows is bounded by all combinations of what they hold.
  void split(const Box& box) {
    const auto several = [&](std::size_t a) { return box.high[a] - box.low[a] > 1; };
    bool coupled = false;
    for (std::size_t a = 0; a < axes_; ++a) coupled = coupled || (coupled_[a] && several(a));
    bool any = false;
    double best = 0;
    std::uint32_t rows = 0;
    std::pair<Box, Box> halves;
    for (std::size_t a = 0; a < axes_; ++a) {
      if (!several(a) || (coupled && !coupled_[a])) continue;
      Box left = box, right = box;
      left.high[a] = right.low[a] = box.low[a] + (box.high[a] - box.low[a]) / 2;
      left.first = first_index(left);
      right.first = first_index(right);
      bound(left);
      bound(right);
      const double looser = std::min(left.bound, right.bound);
      // Where bounds do not tell, the axis of most rows.
      if (any && (looser < best || (looser == best && box.high[a] - box.low[a] <= rows))) continue;
      any = true;
      best = looser;
      rows = box.high[a] - box.low[a];
      halves = {left, right};
    }
    for (const Box& half : {halves.first, halves.second})
      if (half.bound < HUGE_VAL && !beaten(half)) queue_.push(half);
  }

  void evaluate(const Box& box) {
    if (box.outer != current_) {
      kernel_.use(subjects_[box.outer].subject, subjects_[box.outer].compiled);
      current_ = box.outer;
    }
    indices_.clear();
    std::array<std::uint32_t, kMostAxes> row = box.low;
    for (std::uint64_t left = points_in(box); left > 0; --left) {
      std::uint64_t at = 0;
      for (std::size_t a = 0; a < axes_; ++a) at += row[a] * strides_[a];
      indices_.push_back(at);
      if (indices_.size() == PointKernel::kBlock || left == 1) evaluate_indices(box.outer);
      for (std::size_t a = axes_; a-- > 0;) {
        if (++row[a] < box.high[a]) break;
        row[a] = box.low[a];
      }
    }
  }
  void evaluate_indices(std::uint32_t outer) {
    kernel_.run(indices_);
    for (auto& i : indices_) i += outer * space_.inner();
    result.reduction.add(kernel_, indices_);
    indices_.clear();
  }

  const Space& space_;
  PointKernel kernel_;
  std::size_t axes_;
  std::uint64_t leaf_;
  std::array<std::uint64_t, kMostAxes> strides_{};
  std::array<std::uint32_t, kMostAxes> sizes_{};
  std::array<bool, kMostAxes> coupled_{};  ///< a row of it sets several inputs
  std::vector<Bound> subjects_;
  std::uint32_t current_ = 0;
  std::priority_queue<Box> queue_;
  std::vector<Interval> slots_;
  std::vector<std::uint64_t> indices_;
};

}  // namespace

std::string no_bounds(const Space& space, const Question& question, const ExploreOptions& options) {
  if (question.objectives.size() != 1) return "branch and bound needs one objective";
  if (question.top != 1) return "branch and bound keeps the best point only";
  if (question.histogram) return "a histogram needs every point";
  if (!space.sample().entry.is_law || space.sample().entry.interval == nullptr) return "the subject has no bounds: it is not a law over every scalar";
  if (options.shards != 1) return "shards divide an exhaustive search";
  if (space.outer() > 65536) return "there are more than 65536 choices of the structural axes";
  if (space.axes().size() - space.structural_axes() > kMostAxes) return "there are more than 16 axes over numbers";
  return {};
}

SearchResult branch_and_bound(const Space& space, const Question& question, const ExploreOptions& options, double most_boxes) {
  const auto began = std::chrono::steady_clock::now();
  Searcher search(space, question, constraint_texts(question, space.sample().entry).size());
  search.run(options, most_boxes);
  auto& out = search.result;
  out.next = out.proven ? space.size() : 0;
  out.complete = out.proven;
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return std::move(out);
}

}  // namespace mlsysim::detail
